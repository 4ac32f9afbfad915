package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// A claim is an item of its own under one of the keys of [Entity].Claims. It has the type
// attribute, the key of the main item that owns it, and the expiry of the entity, if there is
// one. Its owner guards it: the main item, which is in each transaction that changes a claim,
// has the revision. So a claim that stays is not written, whatever else changes.

// claimType is the type of the entity's claims, and their name in errors.
func (c *core) claimType() string { return c.entity.Type + item.ClaimSuffix }

// claimProblems adds what keeps an entity from having claims.
func (e *description) claimProblems(p *problems, spec schema.Table) {
	if e.Claims == nil {
		return
	}
	if e.Version == "" {
		p.add("Claims: need a Version, or they would drift apart from the entity")
	}
	used := attributesOf(spec)
	for _, name := range []string{item.OwnerPK, item.OwnerSK} {
		if slices.Contains(used, name) {
			p.add("Claims: attribute %q of claims has another use in the schema", name)
		}
	}
}

// claimsOf returns the keys that v claims, each once.
func (c *core) claimsOf(v any) (claims []keys.Key) {
	if c.entity.Claims == nil {
		return nil
	}
	for _, key := range c.entity.Claims(v) {
		if key != (keys.Key{}) && !slices.Contains(claims, key) {
			claims = append(claims, key)
		}
	}
	return claims
}

// ownerAttributes returns the attributes of a claim that say who owns it.
func (c *core) ownerAttributes(owner keys.Key) (table.Item, error) {
	of, err := c.table.IndexKey("", owner)
	if err != nil {
		return nil, err
	}
	attributes := table.Item{item.OwnerPK: of[c.schema.PK]}
	if c.schema.SK != "" {
		attributes[item.OwnerSK] = of[c.schema.SK]
	}
	return attributes, nil
}

// claim makes the item of a claim.
func (c *core) claim(key, owner keys.Key, expiry types.AttributeValue) item.Made {
	attributes, err := c.ownerAttributes(owner)
	if err == nil {
		err = c.setKey(attributes, key)
	}
	if err != nil {
		return item.Made{Err: err}
	}
	attributes[c.schema.TypeAttribute] = &types.AttributeValueMemberS{Value: c.claimType()}
	if is := c.schema.TypeOf(attributes); is != c.claimType() {
		return item.Made{Err: fmt.Errorf("%w: the item of a %s would be of type %q, by the Kinds of the schema", table.ErrInvalid, c.claimType(), is)}
	}
	if expiry != nil {
		attributes[c.schema.TTLAttribute] = expiry
	}
	return item.Made{Item: attributes}
}

// isClaim reports whether an item is a claim of an entity of this type.
func (c *core) isClaim(attributes table.Item) bool {
	return c.entity.Claims != nil && item.Text(attributes[c.schema.TypeAttribute]) == c.claimType()
}

// ownerIn returns the key of the main item that owns a claim.
func (c *core) ownerIn(claim table.Item) keys.Key {
	of := table.Item{c.schema.PK: claim[item.OwnerPK]}
	if c.schema.SK != "" {
		of[c.schema.SK] = claim[item.OwnerSK]
	}
	return c.table.KeyOf("", of)
}

// expiryIn returns the expiry among attributes of an entity, or nil.
func (c *core) expiryIn(attributes table.Item) types.AttributeValue {
	if c.schema.TTLAttribute == "" {
		return nil
	}
	return attributes[c.schema.TTLAttribute]
}

// guardClaim makes an op depend on who owns the claim.
func (c *core) guardClaim(op table.Op, s step) table.Op {
	owned, err := c.ownerAttributes(s.owner)
	if err != nil { // so it owns nothing
		return c.refused(err)[0]
	}
	mine := item.Name(item.OwnerPK).Equal(expression.Value(owned[item.OwnerPK]))
	if c.schema.SK != "" {
		mine = mine.And(item.Name(item.OwnerSK).Equal(expression.Value(owned[item.OwnerSK])))
	}
	if s.gone {
		mine = item.Name(c.schema.PK).AttributeNotExists().Or(mine)
	} else {
		op = op.IfExists()
	}
	//mutants:guard a claim is deleted only by its owner | TestClaims ./suites/schedules | => _ = mine; return op.IfType(c.claimType()).WithName(s.name)
	return op.IfType(c.claimType()).If(mine).Guarded(item.Guard{OrStale: true}).WithName(s.name)
}

func (c *core) newClaim(key, owner keys.Key, expiry types.AttributeValue) step {
	return step{verb: create, key: key, name: c.claimType(), owner: owner, made: c.claim(key, owner, expiry)}
}

func (c *core) oldClaim(key, owner keys.Key) step {
	return step{verb: remove, key: key, name: c.claimType(), owner: owner, gone: true}
}

// renewed is the step that gives a claim to another main item, or another expiry.
func (c *core) renewed(key, from, to keys.Key, expiry types.AttributeValue) step {
	s := step{verb: patch, key: key, name: c.claimType(), owner: from}
	s.diff.set, s.made.Err = c.ownerAttributes(to)
	switch {
	case s.made.Err != nil:
		s.verb = overwrite // which is refused
	case expiry != nil:
		s.diff.set[c.schema.TTLAttribute] = expiry
	case c.schema.TTLAttribute != "":
		s.diff.remove = []string{c.schema.TTLAttribute}
	}
	return s
}

// saveClaims plans the claims of v. One that stays is not read, and taken to be as the main
// item says.
func (p *planner) saveClaims() error {
	expiry, moved := p.expiry()
	now := p.claimsOf(p.v)
	if err := p.checkClaims(now, p.keys, p.was.keys...); err != nil {
		return err
	}
	// An item of an earlier shape may have claimed other keys, and a program for which a copy
	// is the main item has claims owned by that.
	reads := p.exact || p.was.shape < p.shapes.current || p.leavesAKey()
	for _, key := range now {
		stored, read := p.old.seen[key]
		held := slices.Contains(p.was.claims, key)
		switch owner, ours := p.owner(stored); {
		case !read && (reads || p.old.doubts[key]):
			p.need = append(p.need, key)
		case !read && held && moved:
			p.steps = append(p.steps, p.renewed(key, p.old.at, p.keys[0], expiry))
		case !read && held:
		case stored == nil:
			p.differs = true
			p.steps = append(p.steps, p.newClaim(key, p.keys[0], expiry))
		//mutants:guard a refresh does not take another entity's claim for its own | TestRefreshRepairsClaims
		case !ours:
			return p.failedAt(key, p.claimType(), errClaimed)
		//mutants:guard a claim that was left behind is written when it is taken up again | TestOrphanedClaim ./suites/schedules | !held, =>
		case !held, moved, owner != p.old.at, !item.EqualUnordered(p.expiryIn(stored), expiry):
			// One that was left behind is written, too: it may be about to be removed.
			p.differs = true
			p.steps = append(p.steps, p.renewed(key, owner, p.keys[0], expiry))
		}
	}
	for _, key := range p.was.claims {
		if !slices.Contains(now, key) {
			p.removeClaim(key)
		}
	}
	return nil
}

// leavesAKey reports whether a copy leaves its key, or what it was in an earlier release. No
// later write would know a claim that is owned by that key for the entity's own.
func (p *planner) leavesAKey() bool {
	left := func(key keys.Key) bool {
		return key != (keys.Key{}) && key != p.old.at && !slices.Contains(p.keys, key) && !slices.Contains(p.formerCopies(p.v), key)
	}
	return slices.ContainsFunc(p.was.keys[1:], left) || slices.ContainsFunc(p.formerCopies(p.was.v), left)
}

// maxItems is how many items an entity has at most, since each write of it, or its deletion, is
// one transaction.
const maxItems = 100

// checkClaims reports claims that no transaction can hold together with the items, or that are
// the entity's own items: those that it will have, or had. The zero key is that of a copy that
// is left out, which is no item.
func (c *core) checkClaims(claims, items []keys.Key, had ...keys.Key) error {
	n := 0
	for _, key := range items {
		if key != (keys.Key{}) {
			n++
		}
	}
	if n+len(claims) > maxItems {
		return fmt.Errorf("%w: %d claims and %d items, and an entity has %d together", table.ErrTooLarge, len(claims), n, maxItems)
	}
	for _, key := range claims {
		if slices.Contains(items, key) || slices.Contains(had, key) {
			return fmt.Errorf("%w: a %s has the key of an item of the entity; change one after the other", table.ErrInvalid, c.claimType())
		}
	}
	return nil
}

var errClaimed = fmt.Errorf("%w: the key is claimed by another entity, or is another item's", table.ErrExists)

// expiry returns what the entity's will be, and whether its claims change for it, or since
// the main item moves.
func (p *planner) expiry() (expiry types.AttributeValue, moved bool) {
	moved = p.old.at != p.keys[0]
	if p.schema.TTLAttribute == "" || p.entity.Claims == nil {
		return nil, moved
	}
	was := p.was.raw.Attributes(func(name []byte) bool { return string(name) == p.schema.TTLAttribute })
	before := p.expiryIn(was)
	after := before
	if value, set := p.fields.set[p.schema.TTLAttribute]; set {
		after = value
	}
	if slices.Contains(p.fields.remove, p.schema.TTLAttribute) {
		after = nil
	}
	return after, moved || !item.EqualUnordered(before, after)
}

// removeClaim plans that a claim is given up, unless it is known to be another entity's.
func (p *planner) removeClaim(key keys.Key) {
	stored, read := p.old.seen[key]
	switch owner, ours := p.owner(stored); {
	case !read && p.old.doubts[key]:
		p.need = append(p.need, key)
	case !read:
		p.steps = append(p.steps, p.oldClaim(key, p.old.at))
	case ours:
		p.steps = append(p.steps, p.oldClaim(key, owner))
	}
}

// owner returns the item that owns a claim, and whether that is the entity: it is the main
// item, or a copy, or was one of them in another release. For a main item that becomes a
// copy goes on to own the claims until they are given to the new one.
func (p *planner) owner(claim table.Item) (owner keys.Key, ours bool) {
	if !p.isClaim(claim) {
		return owner, false
	}
	owner = p.ownerIn(claim)
	//mutants:guard a claim of the item that was the main one in another release is the entity's own | TestClaimsOfACopyThatBecomesTheMainItem ./suites/schedules | , p.was.keys... =>
	own := append([]keys.Key{p.old.at}, p.was.keys...)
	if p.was.v != nil { // else the entity is not known
		own = append(own, p.formerCopies(p.was.v)...)
	}
	return owner, owner != keys.Key{} && slices.Contains(own, owner)
}

// GetByClaim reads the entity that claims a key: see [Entity].Claims. It takes two reads, of the
// claim and of the entity, which are of different moments. An entity that no longer claims the
// key, or has another main key by then, is [ErrOrphan], and a key that nobody claims
// [table.ErrNotFound].
func (r *Repo[T]) GetByClaim(ctx context.Context, key keys.Key) (T, error) {
	v, err := r.getByClaim(ctx, key)
	if err != nil {
		return *new(T), r.core.named("GetByClaim", key, err)
	}
	return v, nil
}

func (r *Repo[T]) getByClaim(ctx context.Context, key keys.Key) (v T, err error) {
	c := &r.core
	if c.entity.Claims == nil {
		return v, fmt.Errorf("%w: %q has no Claims", errInvalidEntity, c.entity.Type)
	}
	claim, err := table.Get[table.Item](ctx, c.reads.OfType(c.claimType()), key)
	if err != nil {
		return v, err
	}
	v, err = table.Get[T](ctx, c.reads, c.ownerIn(claim))
	if errors.Is(err, table.ErrNotFound) || err == nil && !slices.Contains(c.claimsOf(&v), key) {
		err = fmt.Errorf("%w: the entity that owns the claim does not claim the key", ErrOrphan)
	}
	return v, err
}

// Types returns the types of the items that the repository writes: the entity's, and that of
// its claims if it has any. It returns none for a nil repository.
func (r *Repo[T]) Types() []string {
	switch {
	case r == nil:
		return nil
	case r.core.entity.Claims == nil:
		return []string{r.core.entity.Type}
	}
	return []string{r.core.entity.Type, r.core.claimType()}
}
