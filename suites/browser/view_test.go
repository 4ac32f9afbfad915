package browser_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var update = flag.Bool("update", false, "write the pictures of docs/images")

// A newcomer's first minute: an engine with a seed, a view, and a picture of the table.
// All pages can be read by everybody, in light and dark and on a narrow screen.
func TestPagesOfASeed(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	for _, l := range looks {
		b.as(t, l)
		b.open(t, e.view(t, "Shop"))
		b.shows(t, "h1", "Shop")
		if query := value[string](t, b, "location.search"); query != "" {
			t.Errorf("the address has kept %q, want no token", query)
		}
		visited := b.crawl(t, 3, func() { b.check(t, l.name) })
		if visited < 10 {
			t.Errorf("%s: only %d pages were found", l.name, visited)
		}
	}
}

// Everything is within reach of a keyboard.
func TestKeyboard(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	b.open(t, e.view(t, "Shop"))
	b.shows(t, "#partitions", "#")

	// The first stop is a link over the header.
	b.press(t, kb.Tab)
	b.shows(t, ":focus", "Skip to the content")

	// A partition by its key, then its rows.
	pk := value[string](t, b, `new URL(document.querySelector("#partitions [data-go]").href).searchParams.get("pk")`)
	b.press(t, "/")
	b.waitFor(t, "the field has the focus", `() => document.activeElement.id === "jump-pk"`)
	b.do(t, chromedp.SendKeys("#jump-pk", pk+kb.Enter, chromedp.ByQuery))
	b.waitFor(t, "the partition", `pk => document.querySelector("main").dataset.page === "partition" && new URL(location).searchParams.get("pk") === pk`, pk)
	b.press(t, "j")
	b.waitFor(t, "the first row has the focus", `() => document.activeElement.closest("[data-row='0']") !== null`)
	b.press(t, kb.Enter)
	b.waitFor(t, "an item", `() => document.querySelector("main").dataset.page === "item"`)
	b.shows(t, "#attributes", "name")

	// What is unfolded by Enter is closed by Escape.
	b.do(t, chromedp.Focus("#requests summary", chromedp.ByQuery))
	b.press(t, kb.Enter)
	b.waitFor(t, "the requests are shown", `() => document.querySelector("#requests").open`)
	b.press(t, kb.Escape)
	b.waitFor(t, "the requests are closed", `() => !document.querySelector("#requests").open`)
}

// Without scripts, links and forms do all of it.
func TestWithoutScripts(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	b.do(t, emulation.SetScriptExecutionDisabled(true))
	b.open(t, e.view(t, "Shop"))
	b.follow(t, "#partitions [data-go]")
	b.follow(t, "#as-query")
	b.do(t, chromedp.Click("#refine summary", chromedp.ByQuery))
	b.follow(t, "#run")
	b.do(t, chromedp.Click("#request summary", chromedp.ByQuery), chromedp.WaitVisible("#request pre", chromedp.ByQuery))
	var request string
	b.do(t, chromedp.Text("#request", &request, chromedp.ByQuery))
	if !strings.Contains(request, "aws dynamodb query --table-name Shop") {
		t.Errorf("the request does not show a command:\n%s", request)
	}
}

// The form of a query shows the fields that the chosen condition uses.
func TestQueryForm(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	b.open(t, e.view(t, "Shop"))
	b.follow(t, "#tabs a:last-child")
	visible := `selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility()).map(e => e.name).join(" ")`
	for _, c := range []struct{ form, choose, value, want string }{
		{"#query fieldset:nth-of-type(2)", "#op", "", "op"},
		{"#query fieldset:nth-of-type(2)", "#op", "begins", "op sk"},
		{"#query fieldset:nth-of-type(2)", "#op", "between", "op sk sk2"},
		{"#filters", "[name=is]", "", "attribute is kind equals"},
		{"#filters", "[name=is]", "between", "attribute is kind equals upto"},
		{"#filters", "[name=is]", "exists", "attribute is"},
	} {
		if c.value != "" { // which is chosen at first
			b.do(t, chromedp.SetValue(c.choose, c.value, chromedp.ByQuery))
		}
		if got := value[string](t, b, fmt.Sprintf("(%s)(%q)", visible, c.form+" :is(input, select)")); got != c.want {
			t.Errorf("%s %q shows %q, want %q", c.choose, c.value, got, c.want)
		}
	}
}

// attack is a text that runs a script if it becomes HTML, ends an attribute or is a
// link, and that reorders and hides text.
const attack = `"'><img src=x onerror=attacked=1><script>attacked=1</script>\u202e\u0000\u200b javascript:attacked=1`

// Items of other programs and of attackers are shown as text.
func TestHostileItems(t *testing.T) {
	e := startEngine(t, "")
	e.do(t, `{"name":"Hostile","indexes":[{"name":"GSI1","pk":"gsi1pk","sk":"gsi1sk"}]}`, "ensure", "-")
	var items strings.Builder
	for i, kind := range []string{attack, "ORDER", "__proto__", attack + " claim"} {
		key := fmt.Sprintf("%s#%d", attack, i)
		fmt.Fprintf(&items, `{"Item":{"pk":{"S":%[1]s},"sk":{"S":%[1]s},"gsi1pk":{"S":%[1]s},"gsi1sk":{"S":%[1]s},"entityType":{"S":%[2]s},"ownerPK":{"S":%[1]s},"ownerSK":{"S":%[1]s},%[1]s:{"S":%[1]s},`+
			`"map":{"M":{%[1]s:{"L":[{"S":%[1]s},{"SS":[%[1]s]}]}}},"long":{"S":%[3]s},"bytes":{"B":"/wA8c2NyaXB0Pg=="}}}`+"\n",
			quote(key), quote(kind), quote(strings.Repeat(attack, 2000)))
	}
	e.do(t, items.String(), "load", "Hostile", "-")
	b := openTab(t)
	for _, l := range looks {
		b.as(t, l)
		b.open(t, e.view(t, "-write", "Hostile"))
		b.crawl(t, 4, func() {
			b.check(t, l.name)
			if value[bool](t, b, `"attacked" in window`) {
				t.Error("a script of an item has run")
			}
			if n := value[int](t, b, `document.images.length + document.querySelectorAll("main script, iframe, object, [onerror], a[href^=javascript]").length`); n > 0 {
				t.Errorf("%d elements were made of an item's text", n)
			}
			if value[bool](t, b, `/[\u202e\u200b\u0000]/.test(document.body.textContent)`) {
				t.Error("a character that reorders or hides text is shown as it is")
			}
		})
	}
}

// quote returns a text with the escapes of JSON as a JSON string.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

// A page of another origin on this machine gets nothing, though a browser sends the
// cookie along. Its server does not get the cookie.
func TestOtherOrigins(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	b.open(t, e.view(t, "Shop"))
	b.shows(t, "h1", "Shop")
	inside := value[string](t, b, "location.href")

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if all := r.Header.Values("Cookie"); len(all) > 0 {
			t.Errorf("another server of the machine gets the cookies %q", all)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><title>other</title>`)
	}))
	t.Cleanup(other.Close)
	b.loud.Store(false) // The browser logs what it refuses.
	b.open(t, other.URL)
	for _, mode := range []string{"cors", "no-cors"} {
		got := value[string](t, b, fmt.Sprintf(`fetch(%q, {credentials: "include", mode: %q}).then(r => "a response of type " + r.type, () => "refused")`, inside, mode))
		if got != "refused" {
			t.Errorf("a page of another origin got %s", got)
		}
	}
	b.loud.Store(true)
	b.open(t, inside)
	b.shows(t, "h1", "Shop") // The token is still good.
}

// A change is shown before it is made, and is made once.
func TestWrite(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	b.open(t, e.view(t, "-write", "Shop"))
	b.do(t, chromedp.Click("#partitions .cell a", chromedp.ByQuery))
	b.shows(t, "#attributes", "name")
	b.do(t, chromedp.Click("#edit", chromedp.ByQuery))
	b.waitFor(t, "the text of the item", `() => document.querySelector("#text") !== null`)
	b.check(t, "the form")
	b.do(t, chromedp.Evaluate(`{ const t = document.querySelector("#text"); t.value = t.value.replace("{", '{"note": {"S": "by hand"},') }`, nil),
		chromedp.Click("#show", chromedp.ByQuery))
	b.shows(t, "#review", "by hand")
	b.check(t, "the difference")
	b.do(t, chromedp.Click("#write", chromedp.ByQuery))
	b.shows(t, "#done", "The change was written")
	b.check(t, "the result")
	b.do(t, chromedp.Click("#done a", chromedp.ByQuery))
	b.shows(t, "#attributes", "by hand")
}

// The pictures of the documentation are those of the seed.
func TestPictures(t *testing.T) {
	e := startEngine(t, "shop")
	b := openTab(t)
	for _, picture := range []struct {
		name string
		look look
		to   func()
	}{
		{"view-table", looks[0], func() {}},
		{"view-partition", looks[0], func() { b.do(t, chromedp.Click("#partitions [data-go]", chromedp.ByQuery)) }},
		{"view-item", looks[1], func() {
			b.do(t, chromedp.Click(`#partitions .cell a[href*="sk=PROFILE"]`, chromedp.ByQuery))
			b.waitFor(t, "an item", `() => document.querySelector("main").dataset.page === "item"`)
		}},
	} {
		b.as(t, picture.look)
		b.open(t, e.view(t, "Shop"))
		picture.to()
		var image []byte
		b.do(t, chromedp.WaitVisible("#cost", chromedp.ByQuery), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			image, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx)
			return err
		}))
		if len(image) < 10_000 {
			t.Errorf("%s: a picture of %d bytes", picture.name, len(image))
		}
		file := filepath.FromSlash("../../docs/images/" + picture.name + ".png")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, image, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%v: run the test with -update", err)
		}
	}
}
