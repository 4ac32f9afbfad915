package singletable_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
)

// A claim about AWS has its source where it stands: in a comment of Go, or in one of Markdown
// (<!-- -->), which is not shown. A link to a page of AWS is a source, too. Others are a page,
// what AWS responded to others, or the code of a client of AWS:
//
//	AWS: "Scanning tables in DynamoDB", Amazon DynamoDB Developer Guide; Scan, Amazon DynamoDB API Reference.
//	Seen: nubo-db/dynamodb-conformance, limits/itemSize.test.ts.
//	Code: aws-sdk-go-v2, aws/retry/standard.go.
const (
	title = "(?:\"[^\"]+\"|`?[A-Z]\\w+`?)"
	guide = `(?:Amazon (?:API Gateway|Cognito|DynamoDB|Kinesis Data Streams|SES|SNS|SQS) Developer Guide|Amazon (?:CloudWatch|EventBridge) User Guide` +
		`|Amazon (?:Cognito User Pools|DynamoDB|DynamoDB Streams|S3|SQS) API Reference|Amazon SES API v2 Reference` +
		`|AWS (?:Database Encryption SDK|Lambda|SAM) Developer Guide|AWS (?:CloudFormation|Secrets Manager) User Guide|IAM User Guide` +
		`|AWS CloudFormation Template Reference|Service Authorization Reference|Tagging AWS Resources and Tag Editor User Guide` +
		`|AWS (?:Architecture|Database|Developer Tools) Blog|AWS re:Post Knowledge Center|AWS pricing pages|Smithy documentation` +
		`|Powertools for AWS Lambda(?: \(TypeScript\))?|Terraform AWS provider)`
	end = `(?:[.)]| -->| \||$)`

	// saying is where AWS does something: it begins a clause. counting is of units, bytes and days.
	saying = `(?:^|[^\w\s\x60][*]* |\b(?:since|because|and|but|so|though|although|which) )` +
		`(?:AWS|(?:Amazon )?DynamoDB(?: Streams)?|(?:AWS )?Lambda|IAM|TTL|CloudFormation|CloudWatch|Cognito|API Gateway|HTTP APIs` +
		`|SAM|SES|SNS|SQS|X-Ray|Global indexes)(?: also| always| never| only| itself| then)? ` +
		`(?:accepts?|adapts?|adds?|advises|allows|asks|builds?|can|cannot|changes|charges|compares|computes|consumes?|costs?|counts` +
		`|creates|decides|deletes|delivers|divides|does?|encrypts|ends|executes|expires|fills|gives|has|have|ignores|joins|keeps|leaves` +
		`|lets|makes|may|needs|passes|promises|quotes|raises|records|refuse[sd]|repeats|reports|requires|reserves|retries|returns` +
		`|sends|sets|sorts|splits|stores|takes|throttles|treats|updates|writes)\b`
	counting = `\b(?:index|item|key|partition|shard|stream|transaction)s? (?:takes?|has|have|holds?|costs?)(?: at most)? \d` +
		`|\b(?:write|read) units? (?:for|more|if)\b|\b(?:half|twice|two) (?:a |the )?(?:\w+ )?units?\b|consumes? (?:no )?(?:\w+ )?units` +
		`|costs? nothing in|is paid for|are throttled|no consistent reads|delivered at least once|[Aa] partition (?:\w+ \w+ )?takes` +
		`|\b400 KB|\b100 writes|[^.\d](?:1|4|16) MB\b|six hours|ten minutes|few days|days later|35 days|(?:up to|more than) a day\b` +
		`|streams?\b.{0,60} (?:24 hours|a day)\b|\bOn AWS\b|\bby DynamoDB\b|limits? of DynamoDB|DynamoDB's limit`
)

var (
	sources = map[string]*regexp.Regexp{
		"AWS":  regexp.MustCompile(`^(?:(?:^|; )` + title + `(?:(?:, | and )` + title + `)*, ` + guide + `)+` + end),
		"Seen": regexp.MustCompile(`^(?:(?:^|; )(?:[\w-]+/dynamodb-conformance|architect/dynalite)(?:, [\w/.-]+\w)+)+` + end),
		"Code": regexp.MustCompile(`^(?:(?:^|; )(?:aws-[\w-]+(?:/service/dynamodb)?(?:@v[\d.]+\d)?|net/http|opentelemetry-go-contrib)(?:, [\w/. -]+\w)+)+` + end),
	}
	marked = regexp.MustCompile(`(?:^|[.:>?|(-] |\()(AWS|Seen|Code): `)
	linked = regexp.MustCompile(`https://(?:docs\.)?aws\.amazon\.com/`)
	claim  = regexp.MustCompile(saying + `|` + counting)
)

// block is a paragraph, an item of a list or a row of a table. Its section is what is under a
// heading, or a declaration of Go with its comments.
type block struct{ section, text string }

func inMarkdown(file, text string) (blocks []block) {
	section, fenced := file, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			if strings.HasPrefix(line, "#") {
				section = fmt.Sprintf("%s:%d", file, i+1)
			}
			blocks = append(blocks, block{section, line})
		}
	}
	return blocks
}

// inGo takes a blank line behind one without indent for the end of a declaration.
func inGo(file, text string) (blocks []block) {
	section, paragraph, indented := file, "", false
	for i, line := range strings.Split(text, "\n") {
		code, said, _ := strings.Cut(line, "// ")
		if paragraph != "" && (said == "" || strings.TrimSpace(code) != "") {
			blocks = append(blocks, block{section, strings.TrimSpace(paragraph)})
			paragraph = ""
		}
		if line == "" && !indented || strings.HasPrefix(said, "# ") {
			section = fmt.Sprintf("%s:%d", file, i+1)
		}
		if said != "" {
			paragraph += " " + said
		}
		indented = strings.HasPrefix(line, "\t")
	}
	return blocks
}

// unsourced bounds the claims without a source; some of those found are no claims. Lower it
// when there are fewer.
const unsourced = 23

// TestSources shows that the sources of claims about AWS are readable, and that few claims
// have none. It knows claims by how they are worded, so it misses about half. A section that
// has a source can have another claim without one.
func TestSources(t *testing.T) {
	t.Parallel()
	var blocks []block
	expect.OK(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		file := filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "findings", "node_modules", "testdata"}, d.Name()):
			return fs.SkipDir
		case filepath.Ext(file) == ".md":
			blocks = append(blocks, inMarkdown(file, read(t, file))...)
		case filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go"):
			blocks = append(blocks, inGo(file, read(t, file))...)
		}
		return nil
	}))
	counts, sourced := map[string]int{}, map[string]bool{}
	for _, b := range blocks {
		links, marks := len(linked.FindAllString(b.text, -1)), marked.FindAllStringSubmatchIndex(b.text, -1)
		counts["AWS"] += links
		for _, m := range marks {
			kind := b.text[m[2]:m[3]]
			counts[kind]++
			if !sources[kind].MatchString(b.text[m[1]:]) {
				t.Errorf("%s: no source of the form of sources_test.go: %.150s", b.section, b.text[m[2]:])
			}
		}
		sourced[b.section] = sourced[b.section] || links+len(marks) > 0
	}
	without := 0
	for _, b := range blocks {
		if !sourced[b.section] && claim.MatchString(b.text) {
			without++
			t.Logf("%s: no source: %.300s", b.section, b.text)
		}
	}
	t.Logf("sources: %v", counts)
	if without > unsourced {
		t.Errorf("%d claims have no source, at most %d may; -v lists them. Give a new claim its source.", without, unsourced)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	return string(expect.Value(os.ReadFile(filepath.FromSlash(file)))(t))
}
