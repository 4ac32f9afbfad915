package report

// Promise is something that the library's documentation promises; its text is
// the promise's line in the table.
type Promise string

// The promises that a soak tries.
const (
	Stored       Promise = "a write that succeeded is stored as it was given"
	Refused      Promise = "a write that was refused has changed nothing"
	Settled      Promise = "a write of unknown outcome is executed as a whole or not"
	Predicted    Promise = "a write succeeds or is refused as its conditions say"
	Mended       Promise = "a transient fault is not seen by the caller"
	Explained    Promise = "an error without a fault does not happen"
	Observed     Promise = "an observer is told of every request"
	Truth        Promise = "a read returns what is stored"
	Walk         Promise = "a walk over pages is complete and in order"
	Token        Promise = "a cursor is valid for its own query only, unchanged"
	Expired      Promise = "an expired item is missing for reads and creates"
	Items        Promise = "the items of an entity are equal"
	Gapless      Promise = "versions have no gap"
	Counters     Promise = "a counter has counted everything once"
	Unique       Promise = "a unique value has one owner"
	Kept         Promise = "a release keeps what another one has stored"
	Lives        Promise = "a stale write to a re-created entity is refused"
	Once         Promise = "a request has at most one effect"
	Result       Promise = "a repeated request returns the same result"
	Linearizable Promise = "the history of an entity is linearizable"
	Serializable Promise = "the history of transactions over entities is serializable"
	Committed    Promise = "a query, an index and a batch read committed items"
	Process      Promise = "a killed process leaves no partial write"
	Engine       Promise = "a killed engine has kept what it acknowledged"
	Sparse       Promise = "a walk returns every matching item, however far apart"
	Slow         Promise = "a slow reader gets every item, whatever its clock says"
	Growth       Promise = "an index that grows loses no item"
	Copies       Promise = "a value comes once, whichever of its copies come and go"
	Ties         Promise = "equal sort keys are read in full or reported"
	Foreign      Promise = "keys of other programs work like the library's own"
	Class        Promise = "a class says what a repetition can do"
	Bounded      Promise = "a call gives up after a bounded number of failures"
	Delivered    Promise = "a consumer gets every change of an item, in order"
	Effected     Promise = "a change has its effect once"
	Projected    Promise = "a projection of changes equals what is stored"
	Leaks        Promise = "no goroutine or connection is left"
)

// All returns the promises in the order of the table.
func All() []Promise {
	return []Promise{
		Stored, Refused, Settled, Predicted, Mended, Explained, Observed, Truth, Walk, Token, Expired,
		Items, Gapless, Counters, Unique, Kept, Lives, Once, Result, Linearizable, Serializable, Committed, Process, Engine,
		Sparse, Slow, Growth, Copies, Ties, Foreign, Class, Bounded, Delivered, Effected, Projected, Leaks,
	}
}
