package peers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/internal/expect"
)

// folder has the command, once it is built.
var folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	folder, err = os.MkdirTemp("", "peers-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return m.Run()
}

// built is the command singletable.
var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(folder, "singletable")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.FromSlash("../../cmd/singletable")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// singletable runs the command on the table, and returns what it has printed, and what it has
// said about that. The exit code is not 0 if it is not ok.
func (s *shop) singletable(args ...string) (out, said string, ok bool) {
	s.Helper()
	o := s.client.Options()
	creds := expect.Value(o.Credentials.Retrieve(s.Context()))(s)
	cmd := exec.CommandContext(s.Context(), expect.Value(built())(s), args...)
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	cmd.Env = append(own, "AWS_ENDPOINT_URL_DYNAMODB="+aws.ToString(o.BaseEndpoint), "AWS_REGION="+o.Region,
		"AWS_ACCESS_KEY_ID="+creds.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+creds.SecretAccessKey, "AWS_SESSION_TOKEN="+creds.SessionToken)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		s.Fatal(err)
	}
	return stdout.String(), stderr.String(), err == nil
}

// sampled describes orders of three customers of the peer by the command, and returns its schema file and
// the patterns of their key and of their key in the index.
func sampled(s *shop, p *peer, flags ...string) (file, patterns string) {
	s.Helper()
	for i, id := range []string{"o-1", "o-2", "o-3"} {
		o := anOrder
		o.Customer, o.ID, o.Total = []string{"c-1", "c-2", "c-3"}[i], id, o.Total+i
		s.call("create", p.order(o))
	}
	name := s.table.Schema().Name
	out, _, ok := s.singletable(slices.Concat([]string{"schema", "-sample", "1000"}, flags, []string{name})...)
	if !ok {
		s.Fatal("singletable schema fails")
	}
	file = filepath.Join(s.TempDir(), "schema.json")
	expect.OK(s, os.WriteFile(file, []byte(out), 0o600))
	type key struct{ PK, SK string }
	var described struct {
		Entities []struct {
			Items []struct {
				key
				Indexes map[string]key
			}
		}
	}
	expect.OK(s, json.Unmarshal([]byte(out), &described))
	if len(described.Entities) == 0 {
		return file, "no entities"
	}
	item := described.Entities[0].Items[0]
	return file, fmt.Sprintf("`%s` `%s`, in the index `%s` `%s`", item.PK, item.SK, item.Indexes["gsi1"].PK, item.Indexes["gsi1"].SK)
}

// commandRows are about the command on the table of the peer: which patterns it finds, and
// whether put refuses an index key that does not follow a change.
func commandRows(patterns string) []row {
	typed := func(p *peer) []string { return []string{"-type", p.spec.TypeAttribute} }
	return usual([]row{
		{
			call: "`singletable schema -sample 1000`", holds: "no entities; it names the type attribute",
			see: func(s *shop, p *peer) string {
				_, patterns := sampled(s, p)
				_, said, _ := s.singletable("schema", "-sample", "1000", s.table.Schema().Name)
				if strings.Contains(said, "-type="+p.spec.TypeAttribute) {
					patterns += "; it names the type attribute"
				}
				return patterns
			},
		},
		{
			call: "the same with `-type`", holds: patterns,
			see: func(s *shop, p *peer) string {
				_, patterns := sampled(s, p, typed(p)...)
				return patterns
			},
		},
		{
			call: "`singletable put -schema` of another status, without the key of the index", holds: "refused",
			see: func(s *shop, p *peer) string {
				file, _ := sampled(s, p, typed(p)...)
				stored := s.scan()[0]
				name, key := s.table.Schema().Name, s.table.KeyOf("", stored)
				out, _, _ := s.singletable("get", "-json", name, string(key.PK), string(key.SK))
				var item struct{ Item map[string]any }
				expect.OK(s, json.Unmarshal([]byte(out), &item))
				item.Item["status"] = map[string]string{"S": "sent"}
				changed := filepath.Join(s.TempDir(), "order.json")
				expect.OK(s, os.WriteFile(changed, expect.Value(json.Marshal(item))(s), 0o600))
				if _, _, ok := s.singletable("put", "-schema", file, "-yes", name, changed); !ok {
					return "refused"
				}
				if len(s.many("byStatus", "sent")) == 0 {
					return "written; the index has the former key"
				}
				return "written"
			},
		},
	})
}

// The commands that read say on the table of each peer what they say on ours: a line of query has
// what differs, and not what the key has already.
func TestCommandsOnAPeersTable(t *testing.T) {
	t.Parallel()
	for _, p := range peers {
		if p.order == nil { // It has no orders.
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, p.file, p.spec)
			for i, id := range []string{"o-1", "o-2", "o-3"} {
				o := anOrder
				o.ID, o.Total = id, o.Total+i
				s.call("create", p.order(o))
			}
			name, key := s.table.Schema().Name, s.table.KeyOf("", s.scan()[0])
			for command, says := range map[string]string{
				"get " + name + " " + string(key.PK) + " " + string(key.SK): "total  ",
				"query " + name + " " + string(key.PK):                      "total=",
				"count " + name + " " + string(key.PK):                      "3 items, 0.5 read units",
				"hot " + name:                                               "3 items in 1 partition",
				"dump " + name:                                              `"total":{"N":`,
				"schema -sample 10 " + name:                                 `"name": "` + name,
			} {
				out, said, ok := s.singletable(strings.Fields(command)...)
				if !ok || !strings.Contains(out, says) || strings.Contains(out, "customerId=") || strings.Contains(said, "operation error") {
					t.Errorf("%s: %v\n%s%s", command, ok, out, said)
				}
			}
		})
	}
}
