package lambda

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

const (
	// maxName bounds the names that are quoted from an event.
	maxName = 64
	// maxMembers bounds the number of them.
	maxMembers = 8
)

// kindOf says what kind of event it is, as far as that shows. The text holds
// names of services and members, and no data.
func kindOf(event json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(event, &members) != nil || members == nil {
		return "JSON that is not an object"
	}
	var records []struct{ EventSource string } // SNS writes it with a capital letter
	if read(members, "Records", &records) && len(records) > 0 {
		return "records of " + quote(records[0].EventSource)
	}
	var source string
	if read(members, "source", &source) && members["detail-type"] != nil {
		return "an EventBridge event of " + quote(source)
	}
	var request map[string]json.RawMessage
	read(members, "requestContext", &request)
	switch {
	case request["elb"] != nil:
		return "a request of a load balancer"
	case request["serviceNetworkArn"] != nil:
		return "a request of VPC Lattice"
	case members["routeArn"] != nil, members["methodArn"] != nil:
		return "an event for an authorizer"
	case request["connectionId"] != nil:
		return "an event of a WebSocket API"
	case members["httpMethod"] != nil:
		return "a request of payload format 1.0"
	case request != nil:
		var version string
		read(members, "version", &version)
		return "a request of payload format " + quote(version)
	}
	names := slices.Sorted(maps.Keys(members))
	for i, name := range names {
		names[i] = quote(name)
	}
	if more := len(names) - maxMembers; more > 0 {
		names = append(names[:maxMembers], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("an object with the members %s", names)
}

// read decodes a member, and reports whether it is there.
func read(members map[string]json.RawMessage, name string, into any) bool {
	return members[name] != nil && json.Unmarshal(members[name], into) == nil
}

func quote(name string) string { return fmt.Sprintf("%.*q", maxName, name) }
