package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/table"
)

// errCompleted ends an approval of what is approved.
var errCompleted = errors.New("transaction is completed already")

// Approve completes a transaction and notifies its user: both copies of the
// transaction and the notification are written together or not at all. One that
// is completed already stays as it is, so an approval can be repeated, also
// after [ErrUnavailable], and the user is notified once.
func (s *Service) Approve(ctx context.Context, id string) (Transaction, error) {
	var completed Transaction
	key := transactionKey(id)
	if key.Validate() != nil {
		return Transaction{}, ErrNotFound // nothing can have this id
	}
	approved, err := s.transactions.UpdateWith(ctx, key, func(t *Transaction) ([]table.Op, error) {
		if t.Status == Completed {
			completed = *t
			return nil, errCompleted
		}
		t.Status = Completed
		return s.notifications.CreateOps(&Notification{
			ID: newID("notif"), UserID: t.UserID, TxID: t.ID, CreatedAt: s.timestamp(),
			Message: fmt.Sprintf("Your transaction of %d %s was approved", t.Amount, t.Currency),
		}), nil
	})
	if errors.Is(err, errCompleted) {
		return completed, nil
	}
	return approved, translate(err)
}
