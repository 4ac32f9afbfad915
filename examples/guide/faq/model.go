// Package faq has the code of docs/faq.md: projects, their tasks, and the people who
// work on them.
package faq

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the one table.
var Schema = schema.Table{
	Name:         "Tracker",
	TTLAttribute: "expiresAt",
	Indexes: []schema.Index{
		{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
		byType,
	},
}

var byType = schema.Index{
	Name: "byType",
	PKs:  []schema.Attribute{{Name: "entityType"}},
	SKs:  []schema.Attribute{{Name: "createdAt", Type: types.ScalarAttributeTypeN}},
}

const (
	project keys.Prefix = "PROJECT"
	task    keys.Prefix = "TASK"
	member  keys.Prefix = "MEMBER"
	session keys.Prefix = "SESSION"
	email   keys.Prefix = "EMAIL"
	due     keys.Prefix = "DUE"
	desk    keys.Prefix = "DESK"
	day     keys.Prefix = "DAY"
	visit   keys.Prefix = "VISIT"
)

// Project is what tasks belong to.
type Project struct {
	ID       string `dynamodbav:"projectId"`
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

func projectKey(id string) keys.Key { return keys.Key{PK: project.PK(id), SK: keys.Metadata} }

var projectEntity = repo.Entity[Project]{
	Type: "PROJECT", Version: "revision",
	Key: func(p Project) keys.Key { return projectKey(p.ID) },
}

// Task is in the index byType by its fields entityType and createdAt.
type Task struct {
	Type      string     `dynamodbav:"entityType"`
	Project   string     `dynamodbav:"projectId"`
	ID        string     `dynamodbav:"taskId"`
	Title     string     `dynamodbav:"title"`
	Status    Status     `dynamodbav:"status"`
	Assignee  string     `dynamodbav:"assignee,omitempty"`
	Place     Place      `dynamodbav:"place"`
	Tags      []string   `dynamodbav:"tags,stringset,omitempty"`
	Due       time.Time  `dynamodbav:"due"`
	CreatedAt time.Time  `dynamodbav:"createdAt,unixtime"`
	UpdatedAt time.Time  `dynamodbav:"updatedAt"`
	DeletedAt *time.Time `dynamodbav:"deletedAt,omitempty"`
	Revision  string     `dynamodbav:"revision"`
}

// Place is where a task is done.
type Place struct {
	City string `dynamodbav:"city,omitempty"`
	Room string `dynamodbav:"room,omitempty"`
}

// Status is open or done.
type Status string

func taskKey(projectID, id string) keys.Key {
	return keys.Key{PK: project.PK(projectID), SK: task.SK(keys.Str(id))}
}

// A deleted task has no key in the index, so it is not in it.
func dueKey(t Task) keys.Key {
	if t.DeletedAt != nil {
		return keys.Key{}
	}
	return keys.Key{PK: project.PK(t.Project), SK: due.SK(keys.Time(t.Due), keys.Str(t.ID))}
}

var taskEntity = repo.Entity[Task]{
	Type: "TASK", Version: "revision",
	Key:     func(t Task) keys.Key { return taskKey(t.Project, t.ID) },
	Indexes: repo.Indexes[Task]{"GSI1": dueKey},
}

// User has an e-mail that no other user has.
type User struct {
	ID       string `dynamodbav:"userId"`
	Email    string `dynamodbav:"email"`
	Revision string `dynamodbav:"revision"`
}

func userKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

func emailKey(address string) keys.Key { return keys.Key{PK: email.PK(address), SK: keys.Metadata} }

var userEntity = repo.Entity[User]{
	Type: "USER", Version: "revision",
	Key: func(u User) keys.Key { return userKey(u.ID) },
	Copies: []repo.Copy[User]{
		{Name: "by e-mail", Key: func(u User) keys.Key { return emailKey(u.Email) }},
	},
}

// Member is a user of a project.
type Member struct {
	Project string `dynamodbav:"projectId"`
	User    string `dynamodbav:"userId"`
	Role    string `dynamodbav:"role"`
}

func memberKey(projectID, userID string) keys.Key {
	return keys.Key{PK: project.PK(projectID), SK: member.SK(keys.Str(userID))}
}

var memberEntity = repo.Entity[Member]{
	Type: "MEMBER",
	Key:  func(m Member) keys.Key { return memberKey(m.Project, m.User) },
	Indexes: repo.Indexes[Member]{"GSI1": func(m Member) keys.Key {
		return keys.Key{PK: keys.User.PK(m.User), SK: project.SK(keys.Str(m.Project))}
	}},
}

// DeskBooking is a desk for some days, which no other booking has then.
type DeskBooking struct {
	ID       string   `dynamodbav:"bookingId"`
	Desk     string   `dynamodbav:"desk"`
	Days     []string `dynamodbav:"days"` // such as 2030-06-01
	Revision string   `dynamodbav:"revision"`
}

func deskBookingKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("DESKBOOKING").PK(id), SK: keys.Metadata}
}

var deskBookingEntity = repo.Entity[DeskBooking]{
	Type: "DESKBOOKING", Version: "revision",
	Key: func(b DeskBooking) keys.Key { return deskBookingKey(b.ID) },
	Claims: func(b DeskBooking) (claims []keys.Key) {
		for _, d := range b.Days {
			claims = append(claims, keys.Key{PK: desk.PK(b.Desk), SK: day.SK(keys.Str(d))})
		}
		return claims
	},
}

// Numbers are those of a project that change without its other fields, and its watchers.
type Numbers struct {
	Project  string   `dynamodbav:"projectId"`
	Last     int64    `dynamodbav:"last"`
	Budget   int64    `dynamodbav:"budget"`
	Watchers []string `dynamodbav:"watchers,stringset,omitempty"`
}

func numbersKey(projectID string) keys.Key {
	return keys.Key{PK: project.PK(projectID), SK: "NUMBERS"}
}

var numbersEntity = repo.Entity[Numbers]{
	Type: "NUMBERS",
	Key:  func(n Numbers) keys.Key { return numbersKey(n.Project) },
}

// Visit is listed by day. An earlier program has stored some with the id in the key only.
type Visit struct {
	ID       string    `dynamodbav:"visitId"`
	At       time.Time `dynamodbav:"at"`
	Revision string    `dynamodbav:"revision"`
}

func visitKey(id string) keys.Key { return keys.Key{PK: visit.PK(id), SK: keys.Metadata} }

func dayKey(v Visit) keys.Key {
	return keys.Key{PK: day.PK(v.At.UTC().Format(time.DateOnly)), SK: visit.SK(keys.Time(v.At), keys.Str(v.ID))}
}

var visitEntity = repo.Entity[Visit]{
	Type: "VISIT", Version: "revision",
	Key:      func(v Visit) keys.Key { return visitKey(v.ID) },
	Indexes:  repo.Indexes[Visit]{"GSI1": dayKey},
	Upgrades: []repo.Upgrade{idFromKey},
}

var idFromKey = repo.Upgrade{
	Writes: []string{"visitId"}, Compatible: true,
	Change: func(item table.Item) error {
		pk, _ := item["pk"].(*types.AttributeValueMemberS)
		parts, err := keys.Parse(keys.PK(pk.Value))
		if err != nil || len(parts) != 2 {
			return errors.New("the key has no id")
		}
		item["visitId"] = &types.AttributeValueMemberS{Value: parts[1]}
		return nil
	},
}

// Session ends by itself.
type Session struct {
	ID        string    `dynamodbav:"sessionId"`
	User      string    `dynamodbav:"userId"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime"`
}

func sessionKey(id string) keys.Key { return keys.Key{PK: session.PK(id), SK: keys.Metadata} }

var sessionEntity = repo.Entity[Session]{
	Type: "SESSION",
	Key:  func(s Session) keys.Key { return sessionKey(s.ID) },
}

// Tracker is the door to the table. It is safe for concurrent use.
type Tracker struct {
	table    *table.Table
	projects *repo.Repo[Project]
	tasks    *repo.Repo[Task]
	users    *repo.Repo[User]
	members  *repo.Repo[Member]
	numbers  *repo.Repo[Numbers]
	sessions *repo.Repo[Session]
	desks    *repo.Repo[DeskBooking]
	visits   *repo.Repo[Visit]
	lines    *repo.Repo[Line]
}

// New returns the tracker in a table.
func New(t *table.Table) (*Tracker, error) {
	s := &Tracker{table: t}
	var errs [9]error
	s.projects, errs[0] = repo.New(t, projectEntity)
	s.tasks, errs[1] = repo.New(t, taskEntity)
	s.users, errs[2] = repo.New(t, userEntity)
	s.members, errs[3] = repo.New(t, memberEntity)
	s.numbers, errs[4] = repo.New(t, numbersEntity)
	s.sessions, errs[5] = repo.New(t, sessionEntity)
	s.desks, errs[6] = repo.New(t, deskBookingEntity)
	s.visits, errs[7] = repo.New(t, visitEntity)
	s.lines, errs[8] = repo.New(t, lineEntity)
	return s, errors.Join(errs[:]...)
}
