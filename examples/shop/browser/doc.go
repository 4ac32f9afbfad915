// Package browser tests the store page in a real browser. Its tests need chromium and
// have a build tag, so that the other tests run without it:
//
//	apt-get install -y --no-install-recommends chromium
//	go test -tags chromium ./browser
package browser
