package peers_test

import (
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
)

// runNode runs Node on an input, and returns its output.
func runNode(t *testing.T, input string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("the test needs Node 20 or newer: on Debian, apt-get install -y npm: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	return string(out)
}

// eachLine returns what Node makes of each text, by an expression over s.
func eachLine(t *testing.T, texts []string, expression string) []string {
	t.Helper()
	script := "process.stdout.write(fs.readFileSync(0, 'utf8').split('\\n').map((s) => " + expression + ").join('\\n'))"
	out := strings.Split(runNode(t, strings.Join(texts, "\n"), "-e", script), "\n")
	if len(out) != len(texts) {
		t.Fatalf("Node has returned %d texts for %d", len(out), len(texts))
	}
	return out
}

func TestAProgramInJavaScriptBuildsTheSameKeys(t *testing.T) {
	t.Parallel()
	out := runNode(t, "", "keys.mjs", "../../docs/spec/keys.json")
	if n, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || n < 80 {
		t.Errorf("keys.mjs tried %q cases", out)
	}
}

// lowerAsNode compares texts in the lower case of both, and returns those that are refused.
func lowerAsNode(t *testing.T, texts []string) (refused []string) {
	t.Helper()
	for i, want := range eachLine(t, texts, "s.toLowerCase()") {
		switch got := keys.JSLower(texts[i]); {
		case keys.PK(got).Validate() != nil:
			refused = append(refused, texts[i])
		case got != want:
			t.Errorf("%q is %q, in JavaScript %q", texts[i], got, want)
		}
	}
	return refused
}

// Node 20.0.0 has Unicode 15, 24.22.3 has 17: what they disagree about is refused, so this holds
// for each.
func TestLowerCaseOfAllCharactersIsThatOfJavaScript(t *testing.T) {
	t.Parallel()
	var alone, nextToSigma []string
	for r := range rune(utf8.MaxRune + 1) {
		c := string(r)
		if !utf8.ValidRune(r) || r == '\n' {
			continue
		}
		alone = append(alone, c)
		if !unicode.Is(unicode.Cn, r) { // Otherwise it is refused next to a sigma.
			nextToSigma = append(nextToSigma, "A"+c+"Σ; AΣ"+c+"B; AΣ"+c+"; "+c+"Σ")
		}
	}
	if refused := lowerAsNode(t, alone); len(refused) != 55 {
		t.Errorf("%d letters are refused, want 55: %q", len(refused), refused)
	}
	// Those of ʕ and U+1171E, and, once Go has a newer Unicode, of the 55 letters.
	if refused := lowerAsNode(t, nextToSigma); len(refused) != 2 && unicode.Version == "15.0.0" {
		t.Errorf("%d characters are refused next to a sigma, want 2: %q", len(refused), refused)
	}
	t.Logf("%d characters, %d of them in 4 texts with a sigma; Unicode %s here", len(alone), len(nextToSigma), unicode.Version)
}

func TestLowerCaseOfRandomTextsIsThatOfJavaScript(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(65, 7))
	often := []rune("ΣΣΣσςİIıẞΑΩaZ'.:·’_#-  \u0301\u0307\u0345\u00ADʰªǅ日🙂𐐀")
	texts := make([]string, 200_000)
	for i := range texts {
		var b strings.Builder
		for range 1 + source.IntN(12) {
			r := often[source.IntN(len(often))]
			if source.IntN(4) == 0 {
				r = rune(source.IntN(0x1FFFF))
			}
			if utf8.ValidRune(r) && r != '\n' && !unicode.Is(unicode.Cn, r) {
				b.WriteRune(r)
			}
		}
		texts[i] = b.String()
	}
	refused := lowerAsNode(t, texts)
	if len(refused) > len(texts)/100 {
		t.Errorf("%d of %d texts are refused: %q", len(refused), len(texts), refused[:20])
	}
}

func TestNumbersAreAsJavaScriptWritesThem(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(65, 8))
	texts := make([]string, 0, 400_000)
	for _, n := range []float64{0, 5, 0.1, 1e-6, math.Nextafter(1e-6, 0), 1e-7, 5e-324, 1<<53 - 1, math.Nextafter(1<<53, 0)} {
		texts = append(texts, strconv.FormatFloat(n, 'g', 17, 64), strconv.FormatFloat(-n, 'g', 17, 64))
	}
	for len(texts) < cap(texts) {
		n := math.Float64frombits(source.Uint64())
		switch source.IntN(4) {
		case 0:
			n = float64(source.Int64N(1<<54) - 1<<53)
		case 1:
			n = float64(source.Int64N(1e6)) / math.Pow10(source.IntN(16))
		case 2:
			n = source.NormFloat64() * math.Pow10(source.IntN(30)-15)
		}
		if keys.PK(keys.JSNumber(n)).Validate() == nil {
			texts = append(texts, strconv.FormatFloat(n, 'g', 17, 64))
		}
	}
	for i, want := range eachLine(t, texts, "String(Number(s))") {
		if got := keys.JSNumber(expect.Value(strconv.ParseFloat(texts[i], 64))(t)); got != want {
			t.Errorf("%s is %q, in JavaScript %q", texts[i], got, want)
		}
	}
}
