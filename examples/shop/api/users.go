package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

type user struct {
	ID        string     `json:"userId"`
	Email     string     `json:"email"`
	Name      string     `json:"name"`
	Role      store.Role `json:"role"`
	CreatedAt string     `json:"createdAt"`
}

func userOf(u store.User) user {
	return user{u.ID, u.Email, u.Name, u.Role, httpapi.Clock(u.CreatedAt)}
}

// signUp creates a customer. If there is a user with the e-mail, it does not tell, and
// that user gets the mail.
func (a *API) signUp(w http.ResponseWriter, r *http.Request, _ store.User) error {
	u := store.User{ID: store.NewID("u"), CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	var password string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &u.Email, "name": &u.Name, "password": &password}); err != nil {
		return err
	}
	return a.mailCode(w, r, u.Email, func(ctx context.Context) error {
		_, err := a.shop.SignUp(ctx, u, password)
		if errors.Is(err, store.ErrEmailTaken) {
			return nil
		}
		return err
	})
}

// forgotPassword mails a code.
func (a *API) forgotPassword(w http.ResponseWriter, r *http.Request, _ store.User) error {
	var email string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &email}); err != nil {
		return err
	}
	return a.mailCode(w, r, email, func(context.Context) error { return store.CheckEmail(email) })
}

// longest is how long a request may take that goes on without its client.
const longest = 10 * time.Second

// mailCode does something, mails a code to the user with an e-mail, if there is one, and
// responds 202 at the end of the mail time. So neither the response nor its time tells
// whether there was one, also if the mail is late or fails. A client that disconnects does
// not cancel the mail.
func (a *API) mailCode(w http.ResponseWriter, r *http.Request, email string, do func(context.Context) error) error {
	end := time.Now().Add(a.MailTime)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longest)
	defer cancel()
	if err := a.shop.Admit(ctx, a.client(r)); err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.sendCode(ctx, email, end)
	}()
	if a.MailTime > 0 {
		<-time.After(time.Until(end))
	} else {
		<-done
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// sendCode mails a code to the user with an e-mail, if there is one. A mail that was not
// sent, or not in time, is in the log only.
func (a *API) sendCode(ctx context.Context, email string, end time.Time) {
	send := ctx
	if a.MailTime > 0 {
		// Before the end: a function stops with its response, and could not log any more.
		var cancel context.CancelFunc
		send, cancel = context.WithDeadline(ctx, end.Add(-a.MailTime/20))
		defer cancel()
	}
	to, code, err := a.shop.NewCode(send, email)
	if err == nil {
		err = a.Mail(send, mail.Code(to.Email, code))
	}
	if err != nil && !errors.Is(err, table.ErrNotFound) && !errors.Is(err, store.ErrAttempts) {
		a.Log.ErrorContext(ctx, "a mail was not sent", slog.Any("error", err))
	}
}

// setPassword sets a new password, and a name if there is one, and returns a token.
func (a *API) setPassword(w http.ResponseWriter, r *http.Request, _ store.User) error {
	var code, password, name string
	if err := httpapi.ReadJSON(w, r, map[string]any{"code": &code, "password": &password, "name": &name}); err != nil {
		return err
	}
	if err := a.shop.Admit(r.Context(), a.client(r)); err != nil {
		return err
	}
	u, err := a.shop.SetPassword(r.Context(), code, password, name)
	if err != nil {
		return err
	}
	return a.writeSession(w, u)
}

// logIn returns a token.
func (a *API) logIn(w http.ResponseWriter, r *http.Request, _ store.User) error {
	l := store.Login{Client: a.client(r)}
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &l.Email, "password": &l.Password, "code": &l.Code}); err != nil {
		return err
	}
	u, err := a.shop.LogIn(r.Context(), l)
	if err != nil {
		return err
	}
	return a.writeSession(w, u)
}

func (a *API) writeSession(w http.ResponseWriter, u store.User) error {
	token, expires, err := a.sessions.Issue(u)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, struct {
		Token     string `json:"token"`
		ExpiresAt string `json:"expiresAt"`
		User      user   `json:"user"`
	}{token, httpapi.Clock(expires), userOf(u)})
}

// client returns the network address that a request comes from. Of an IPv6 address it is
// the network, since a client has all addresses of one.
func (a *API) client(r *http.Request) string {
	address := r.RemoteAddr
	if a.Proxy {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		address = strings.TrimSpace(all[len(all)-1])
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// user returns the user itself; to an admin, any user. Another user's id is a 404, so
// that nobody learns which ids there are.
func (a *API) user(w http.ResponseWriter, r *http.Request, who store.User) error {
	id := r.PathValue("id")
	if id != who.ID && who.Role != store.Admin {
		return table.ErrNotFound
	}
	u, err := a.shop.UserByID(r.Context(), id)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(u))
}
