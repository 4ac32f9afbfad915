// Package browser tests the pages of the command singletable view in Chromium: what a
// person sees, with a mouse, with a keyboard only, without scripts, on a narrow screen,
// and with hostile items. Its tests build the command and run it as a user does, on the
// local engine.
//
// Chromium has to be in the PATH; on Debian it is the package chromium. With -update,
// the tests write the pictures of docs/images again. With -pictures and a folder,
// TestEveryPage writes a picture of every page in both themes and narrow: compare them by
// eye with those of the commit before, by the rules of
// cmd/singletable/internal/view/DESIGN.md.
package browser
