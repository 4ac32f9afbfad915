package browser_test

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "`folder` to write a picture of every page to, in both themes and narrow")

// pagesOfTheShop are the pages, by the name of their picture: addresses under that of the
// view, and what is done there before the picture.
var pagesOfTheShop = []struct {
	name, address string
	then          []chromedp.Action
}{
	{"tables", "", nil},
	{"overview", "t/Shop", nil},
	{"browse", "t/Shop/browse", nil},
	{"browse-items", "t/Shop/browse?as=list", nil},
	{"browse-index", "t/Shop/browse?index=GSI1", nil},
	{"partition", "t/Shop/partition?pk=USER%23u-hugo", nil},
	{"partition-index", "t/Shop/partition?index=GSI1&pk=CATEGORY%23kitchen", nil},
	{"item", "t/Shop/item?pk=USER%23u-ana&sk=PROFILE", nil},
	{"item-requests", "t/Shop/item?pk=ORDER%23o-1009&sk=METADATA", []chromedp.Action{chromedp.Click("#requests summary", chromedp.ByQuery)}},
	{"item-with-vector", "t/Shop/item?pk=PRODUCT%23p-pan&sk=VECTOR", nil},
	{"similar", "t/Shop/similar?index=similar&pk=PRODUCT%23p-pan&sk=VECTOR", nil},
	{"query", "t/Shop/query", nil},
	{"query-pattern", "t/Shop/query?of=ORDER&item=1", nil},
	{"query-result", "t/Shop/query?pk=USER%23u-ana&op=begins&sk=ORDER&attribute=status&equals=DELIVERED", nil},
	{"query-change", "t/Shop/query?pk=USER%23u-ana&op=begins&sk=ORDER&attribute=status&equals=DELIVERED", []chromedp.Action{
		chromedp.Click("#refine summary", chromedp.ByQuery), chromedp.Click("#request summary", chromedp.ByQuery),
	}},
	{"cursor", "cursor", nil},
	{"edit", "t/Shop/edit?pk=USER%23u-ana&sk=PROFILE", nil},
	{"edit-difference", "t/Shop/edit?pk=USER%23u-ana&sk=PROFILE", []chromedp.Action{
		chromedp.Evaluate(`{ const t = document.querySelector("#text"); t.value = t.value.replace("Ana Lima", "Ana Maria Lima") }`, nil),
		chromedp.Click("#show", chromedp.ByQuery), chromedp.WaitVisible("#review", chromedp.ByQuery),
	}},
	{"delete", "t/Shop/item?pk=USER%23u-ana&sk=PROFILE", []chromedp.Action{
		chromedp.Click("#delete", chromedp.ByQuery), chromedp.WaitVisible("#review", chromedp.ByQuery),
	}},
	{"delete-entity", "t/Shop/item?pk=USER%23u-ana&sk=PROFILE", []chromedp.Action{
		chromedp.Click("#delete", chromedp.ByQuery), chromedp.WaitVisible("#review", chromedp.ByQuery),
		chromedp.Click("#delete-all", chromedp.ByQuery), chromedp.WaitVisible("#h-other-0", chromedp.ByQuery),
	}},
	{"create", "t/Shop/create", nil},
	{"create-user", "t/Shop/create?of=USER", nil},
	{"error", "t/Shop/item?pk=NOBODY&sk=PROFILE", nil},
}

// Every page passes the check in every look. With -pictures, a reviewer compares them by
// eye.
func TestEveryPage(t *testing.T) {
	e := startEngine(t, "shop")
	address := e.view(t, "-write")
	b := openTab(t)
	b.open(t, address)
	root, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	root.RawQuery = ""
	if *pictures != "" {
		if err := os.MkdirAll(*pictures, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// What was read shows on later pages.
	b.open(t, root.String()+"t/Shop")
	b.loud.Store(false) // The browser logs the page of an error.
	for _, l := range looks {
		b.as(t, l)
		for _, p := range pagesOfTheShop {
			b.open(t, root.String()+p.address)
			b.do(t, p.then...)
			b.do(t, chromedp.WaitVisible("#cost", chromedp.ByQuery))
			b.check(t, p.name+", "+l.name)
			if title := value[string](t, b, "document.title"); strings.Contains(title, "cannot be made") {
				t.Errorf("%s: %s", p.name, title)
			}
			if *pictures == "" {
				continue
			}
			var image []byte
			b.do(t, chromedp.FullScreenshot(&image, 100))
			if err := os.WriteFile(filepath.Join(*pictures, p.name+"-"+l.name+".png"), image, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
