package samtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mermaid draws the resources of a template, and an arrow from each to those that it
// refers to, also by the name of a table or a queue. An event source is drawn as it works: from it to the mapping. Alarms are
// together, and have an arrow to what they watch.
func Mermaid(t Template) string {
	var b, alarms, arrows strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		r := t.Resources[name]
		box, arrow := &b, "-->"
		if r.Type == "AWS::CloudWatch::Alarm" {
			box, arrow = &alarms, "-.->"
		}
		_, kind, _ := strings.Cut(r.Type, "::")
		fmt.Fprintf(box, "  %s[\"<b>%s</b><br/>%s\"]\n", name, name, strings.ReplaceAll(kind, "::", " "))
		for _, to := range named(t, &r.Properties) {
			if to == name {
				continue // it has its own name
			}
			from := name
			if r.Type == "AWS::Lambda::EventSourceMapping" && t.Resources[to].Type != "AWS::Serverless::Function" {
				from, to = to, from
			}
			if arrow == "-.->" && t.Resources[to].Type == "AWS::SNS::Topic" {
				from = "watch" // one arrow for all of them
			}
			if line := fmt.Sprintf("  %s %s %s\n", from, arrow, to); !strings.Contains(arrows.String(), line) {
				arrows.WriteString(line)
			}
		}
	}
	return "flowchart LR\n" + b.String() + "  subgraph watch[\"alarms\"]\n" + alarms.String() + "  end\n" + arrows.String()
}

var substitution = regexp.MustCompile(`\$\{(\w+)`)

// named returns the resources that properties refer to, each once and in order. The
// role that SAM makes for a function stands for the function.
func named(t Template, properties *yaml.Node) []string {
	found := map[string]bool{}
	physical := map[string]string{} // names of tables and queues
	for name, r := range t.Resources {
		var n struct {
			Table string `yaml:"TableName"`
			Queue string `yaml:"QueueName"`
		}
		if r.Type == "AWS::DynamoDB::Table" || r.Type == "AWS::SQS::Queue" {
			_ = r.Properties.Decode(&n) // texts
			physical[n.Table+n.Queue] = name
		}
	}
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		var names []string
		switch n.Tag {
		case "!Ref", "!GetAtt":
			name, _, _ := strings.Cut(n.Value, ".")
			names = []string{name, strings.TrimSuffix(name, "Role")}
		case "!Sub":
			for _, match := range substitution.FindAllStringSubmatch(n.Value, -1) {
				names = append(names, match[1])
			}
			// It is the name, or an ARN that ends with it.
			names = append(names, physical[n.Value[1+strings.LastIndexAny(n.Value, ":/"):]])
		}
		for _, name := range names {
			if _, ok := t.Resources[name]; ok {
				found[name] = true
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(properties)
	return slices.Sorted(maps.Keys(found))
}
