package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/table"
)

// maxApprovals bounds how often an approval begins anew because somebody else
// has changed the transaction meanwhile.
const maxApprovals = 5

// Approve completes a transaction and notifies its user: both copies of the
// transaction and the notification are written together or not at all. One that
// is completed already stays as it is, so an approval can be repeated, also
// after [ErrUnavailable], and the user is notified once.
func (s *Service) Approve(ctx context.Context, id string) (Transaction, error) {
	for attempt := 1; ; attempt++ {
		old, err := s.find(ctx, id)
		if err != nil {
			return Transaction{}, err
		}
		if old.Status == Completed {
			return old, nil
		}
		approved := old
		approved.Status = Completed
		notification := Notification{
			ID: newID("notif"), UserID: old.UserID, TxID: old.ID, CreatedAt: s.timestamp(),
			Text: fmt.Sprintf("Your transaction of %d %s was approved", old.Amount, old.Currency),
		}
		// The first of the ops expects the version that was read.
		ops := append(s.transactions.UpdateOps(old, approved), s.notifications.CreateOps(notification)...)
		err = s.table.Transact(ctx, ops...)
		if err == nil {
			approved.Version++
			return approved, nil
		}
		faster := errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrOutcomeUnknown)
		if !faster || attempt == maxApprovals {
			return Transaction{}, translate(err)
		}
	}
}
