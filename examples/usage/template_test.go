package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/schema"
)

func TestTheTemplatesTableIsTheSchemas(t *testing.T) {
	t.Parallel()
	samtest.Table(t, samtest.Read(t, "template.yaml"), metering.Schema("any"))
}

func TestFunctionsHaveTheirVariablesLogsAndAlarms(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	check.Equal(t, "variables", tpl.Globals.Function.Environment.Variables, map[string]string{
		"TABLE_NAME": "usage-${Env}", "TTL_DAYS": "TtlDays", "MAX_DATE_RANGE_DAYS": "MaxDateRangeDays", "LOG_LEVEL": "LogLevel",
	})
	logs := samtest.Of[struct {
		Retention string `yaml:"RetentionInDays"`
	}](t, tpl, "AWS::Logs::LogGroup")
	handlers := map[string]bool{}
	for name, f := range samtest.Of[samtest.Function](t, tpl, "AWS::Serverless::Function") {
		handlers[f.Handler] = true
		check.Equal(t, name+": retention of logs", logs[f.LoggingConfig.LogGroup].Retention, "LogRetentionDays")
	}
	check.Equal(t, "handlers", handlers, map[string]bool{"count": true, "query": true})
	samtest.Alarms(t, tpl, "usage-${Env}", nil, "ApproximateAgeOfOldestMessage usage-messages-${Env}",
		"ApproximateNumberOfMessagesVisible usage-dead-letters-${Env}", "Dropped")
}

func TestParametersAgree(t *testing.T) {
	t.Parallel()
	samtest.ParametersAgree(t, samtest.Read(t, "template.yaml"), nil)
}

// What holds data outlives the stack, and nothing in the stack needs it to be the stack's:
// only the mapping waits for a queue that the stack makes.
func TestDataOutlivesTheStack(t *testing.T) {
	t.Parallel()
	kept := map[string]string{}
	for name, r := range samtest.Read(t, "template.yaml").Resources {
		if r.DeletionPolicy != "" {
			kept[name] = r.DeletionPolicy + " " + r.Condition
		}
	}
	check.Equal(t, "kept", kept, map[string]string{
		"Table": "RetainExceptOnCreate MakesTable",
		"Queue": "RetainExceptOnCreate MakesQueues", "DeadLetters": "RetainExceptOnCreate MakesQueues",
	})
	text := string(check.Must(os.ReadFile("template.yaml"))(t))
	check.Equal(t, "references", regexp.MustCompile(`.*(?:!Ref|!GetAtt) (?:Table|Queue|DeadLetters)\b.*`).FindAllString(text, -1), []string{
		"        deadLetterTargetArn: !GetAtt DeadLetters.Arn",
		`      EventSourceArn: !If [MakesQueues, !GetAtt Queue.Arn, !Sub "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:usage-messages-${Env}"]`,
	})
}

// The alarm for dropped messages counts lines of the log, whose text the runbook shows.
func TestDroppedMessagesAreCountedInTheLog(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	type metric struct {
		Namespace string `yaml:"MetricNamespace"`
		Name      string `yaml:"MetricName"`
		Value     string `yaml:"MetricValue"`
	}
	filter := samtest.Of[struct {
		Group   string   `yaml:"LogGroupName"`
		Pattern string   `yaml:"FilterPattern"`
		Metrics []metric `yaml:"MetricTransformations"`
	}](t, tpl, "AWS::Logs::MetricFilter")["Dropped"]
	alarm := samtest.Of[struct {
		Namespace string `yaml:"Namespace"`
		Name      string `yaml:"MetricName"`
	}](t, tpl, "AWS::CloudWatch::Alarm")["MessagesDropped"]
	check.Equal(t, "metric", filter.Metrics, []metric{{alarm.Namespace, alarm.Name, "1"}})
	check.Equal(t, "filter", filter.Group+" "+filter.Pattern, `CountLogs { $.msg = "message dropped" }`)
	if text := string(check.Must(os.ReadFile("RUNBOOK.md"))(t)); !strings.Contains(text, `"msg":"message dropped"`) {
		t.Error("the log has no such line")
	}
}

// CloudFormation does not compute. So the bounds of the parameters are such that every
// choice of theirs is good.
func TestTheQueueAndItsConsumerFitEachOther(t *testing.T) {
	t.Parallel()
	tpl := samtest.Read(t, "template.yaml")
	queues := samtest.Of[struct {
		Name       string `yaml:"QueueName"`
		Visibility string `yaml:"VisibilityTimeout"`
		Retention  string `yaml:"MessageRetentionPeriod"`
		Redrive    struct {
			Target string `yaml:"deadLetterTargetArn"`
			Times  string `yaml:"maxReceiveCount"`
		} `yaml:"RedrivePolicy"`
		Allow struct {
			Permission string   `yaml:"redrivePermission"`
			From       []string `yaml:"sourceQueueArns"`
		} `yaml:"RedriveAllowPolicy"`
	}](t, tpl, "AWS::SQS::Queue")
	queue, dead := queues["Queue"], queues["DeadLetters"]
	check.Equal(t, "redrive", []string{queue.Redrive.Target, queue.Redrive.Times, dead.Allow.Permission},
		[]string{"DeadLetters.Arn", "MaxReceiveCount", "byQueue"})
	if len(dead.Allow.From) != 1 || !strings.HasSuffix(dead.Allow.From[0], ":"+queue.Name) {
		t.Errorf("dead letters are taken from %s, not from %s", dead.Allow.From, queue.Name)
	}
	mapping := samtest.Of[struct {
		Source    []string `yaml:"EventSourceArn"`
		Function  string   `yaml:"FunctionName"`
		Responses []string `yaml:"FunctionResponseTypes"`
		Scaling   struct {
			Maximum string `yaml:"MaximumConcurrency"`
		} `yaml:"ScalingConfig"`
	}](t, tpl, "AWS::Lambda::EventSourceMapping")["Messages"]
	check.Equal(t, "mapping", []string{mapping.Source[1], mapping.Function, strings.Join(mapping.Responses, " "), mapping.Scaling.Maximum},
		[]string{"Queue.Arn", "Count", "ReportBatchItemFailures", "ReservedConcurrency"})

	// What AWS asks for, since a batch may wait while it is hidden.
	p := tpl.Parameters
	if hidden, takes := p[queue.Visibility], p["LambdaTimeout"]; takes.Max == 0 || hidden.Min < 6*takes.Max {
		t.Errorf("a message is hidden for %d seconds, and an invocation takes up to %d", hidden.Min, takes.Max)
	}
	// SQS counts from when a message was sent, also for dead letters.
	if kept := check.Must(strconv.Atoi(queue.Retention))(t); p[dead.Retention].Min <= kept {
		t.Errorf("a dead letter is kept for %d seconds, and a message for %d", p[dead.Retention].Min, kept)
	}
	// A message may be moved back on its last day, and be counted once even so.
	if kept := p[dead.Retention].Max; kept > 14*24*3600 {
		t.Errorf("a dead letter is kept for %d seconds, and records of messages for 15 days", kept)
	}
	// A function would start with a time of questions that it does not keep.
	check.Equal(t, "MaxDateRangeDays", p["MaxDateRangeDays"].Default, "")
}

//go:generate go test . -run ^TestTheDiagramIsTheTemplates$ -update

func TestTheDiagramIsTheTemplates(t *testing.T) {
	t.Parallel()
	generated.File(t, "docs/architecture.mmd", samtest.Mermaid(samtest.Read(t, "template.yaml")))
}

// Without the template, singletable ensure makes the same table of it.
func TestTheSchemaFileIsTheSchema(t *testing.T) {
	t.Parallel()
	var spec schema.Table
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile("schema.json"))(t), &spec))
	want := metering.Schema("usage-dev")
	want.PointInTimeRecovery = true
	check.Equal(t, "schema", spec, want)
}
