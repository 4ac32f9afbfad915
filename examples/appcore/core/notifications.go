package core

import (
	"context"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
)

// notificationTime is the form of the time in the id that clients see.
const notificationTime = "2006-01-02T15:04:05.000Z"

// PublicID is the id that clients see: the time and the stored id, such as
// 2024-01-15T10:06:00.000Z~notif-xyz. Together with the user it gives the key.
func (n Notification) PublicID() string {
	return n.CreatedAt.UTC().Format(notificationTime) + "~" + n.ID
}

// notificationOf returns the key of the user's notification with an id that a
// client has sent. An id that [Notification.PublicID] does not write leads nowhere.
func notificationOf(user, publicID string) (keys.Key, error) {
	at, id, _ := strings.Cut(publicID, "~")
	created, err := time.Parse(notificationTime, at)
	n := Notification{ID: id, UserID: user, CreatedAt: created}
	key := n.key()
	if err != nil || n.PublicID() != publicID || key.Validate() != nil {
		return keys.Key{}, ErrNotFound
	}
	return key, nil
}

// MarkNotification marks one of the user's notifications as read or as unread, and
// returns it. It can be repeated, also after [ErrUnavailable].
func (s *Service) MarkNotification(ctx context.Context, user, publicID string, read bool) (Notification, error) {
	key, err := notificationOf(user, publicID)
	if err != nil {
		return Notification{}, err
	}
	marked, err := s.notifications.Update(ctx, key, func(n *Notification) error {
		n.Read = read
		return nil
	})
	return marked, translate(err)
}
