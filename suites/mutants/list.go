package main

// The tests that a mutant can be killed by.
const (
	schedules   = "./suites/schedules"
	conformance = "./suites/conformance"
	shop        = "./examples/shop/store"
	approvals   = "./examples/appcore/core"
	imports     = "./examples/cqrs/core"
	migration   = "./examples/blog/migrate"
	messages    = "./examples/usage/metering"
	streams     = "./stream"
)

// explorers are the packages whose tests take the flag -limit.
var explorers = []string{schedules, shop, approvals, imports, migration, messages}

// mutant is a build without one guard.
type mutant struct {
	// guard says what is removed.
	guard string
	// file is where old is replaced by new. old is there once.
	file, old, new string
	// pkg and run are the tests that kill it.
	pkg, run string
}

// unguarded is a build whose requests of one verb of a plan expect nothing of the item.
func unguarded(verb, guard, pkg, run string) mutant {
	return mutant{
		guard, "repo/run.go", "op = c.guard(op, s.held).WithName(s.name)",
		"if s.verb != " + verb + " {\n\t\top = c.guard(op, s.held)\n\t}\n\top = op.WithName(s.name)", pkg, run,
	}
}

// mutants are one for each guard of the write protocols and of the examples, and one
// for each fix of a fault that lost data or time.
var mutants = []mutant{
	{
		"a transaction whose cancelled attempt had a lost one before it is unknown",
		"table/transact.go", "if tries.silent {", "if false {",
		schedules, "TestKnownSchedules",
	},
	{
		"all attempts of a transaction have one token",
		"table/transact.go", "for tries := t.attempts(ctx); ; {\n\t\tr := &request{operation: \"TransactWriteItems\"",
		"for tries := t.attempts(ctx); ; {\n\t\tin.ClientRequestToken, body = aws.String(rand.Text()), nil\n\t\tr := &request{operation: \"TransactWriteItems\"",
		schedules, "TestTransact",
	},
	{
		"a write that counts is not repeated after a lost response",
		"table/write.go", "tries.once = !w.repeatable() ||", "tries.once = false &&",
		schedules, "TestSequence/DoReturning",
	},
	{
		"a condition that fails after a lost response is unknown",
		"table/write.go", "case tries.unsettled:\n", "case false:\n",
		schedules, "TestRepo/version/Update,_Update$",
	},
	{
		"only the own revision proves that a write was applied",
		"table/write.go", `return own != "" && own == item.Text(stored[attribute])`, `return own != ""`,
		schedules, "TestRepo/revision/Put,_Put",
	},
	{
		"a version proves nothing",
		"table/write.go", "return w.item != nil && !w.op.guard.version.set && item.SameItem(stored, w.item)",
		"return w.op.guard.version.set || w.item != nil && item.SameItem(stored, w.item)",
		schedules, "TestRepo/version/Update,_Update$",
	},
	{
		"an attempt with a lost response settles nothing",
		"table/attempts.go", "\t\ta.unsettled = true\n", "\t\ta.unsettled = false\n",
		schedules, "TestRepo/revision/Update,_Update$",
	},
	{
		"a status of 500 settles nothing",
		"table/attempts.go", "status >= 300 && status < 500 &&", "status >= 300 && status <= 500 &&",
		schedules, "TestRepo/revision/Update,_Update$",
	},
	{
		"a transaction in progress settles nothing",
		"table/attempts.go", "return false // an earlier attempt may still take effect", "return true",
		"./table", "TestTransactionInProgress",
	},
	{
		"a write expects the version",
		"table/requirement.go", "return \"#version = :version\"\n", "return \"#version = :version OR #version <> :version\"\n",
		schedules, "TestRepo/version/Put,_Put",
	},
	{
		"a write expects the revision",
		"table/requirement.go", "return \"#revision = :revision\"\n", "return \"#revision = :revision OR #revision <> :revision\"\n",
		schedules, "TestRepo/revision/Put,_Put",
	},
	{
		"a create expects no item",
		"table/requirement.go", `requirement{"attribute_not_exists(" + b.partition(s) + ")"`, `requirement{"attribute_exists(" + b.partition(s) + ") OR attribute_not_exists(" + b.partition(s) + ")"`,
		schedules, "TestRepo/copies/nobody:_Create,_Create$",
	},
	{
		"an expired item is no reason to refuse a create",
		"table/guard.go", `orExpired     = " OR #ttl BETWEEN :one AND :now"`, `orExpired     = " OR #ttl BETWEEN :now AND :one"`,
		schedules, "TestIdempotency/Do,_expired$",
	},
	{
		"a key that moves is created, not put",
		"repo/run.go", "return table.Create(s.key, s.made)", "return table.Put(s.key, s.made)",
		schedules, "TestRepo/copies/Update_that_moves,_Create",
	},
	{
		"a main key that moves is created, not put",
		"repo/run.go", "return table.Create(s.key, s.made)", "return table.Put(s.key, s.made)",
		schedules, "TestRepo/revision/Update_that_moves_the_main_key",
	},
	unguarded("remove", "the old copy is deleted under its revision", schedules, "TestForeignCopy"),
	unguarded("patch", "a change expects the revision", schedules, "TestRepo/revision/Update,_Update$"),
	{
		"a change expects that the item exists",
		"repo/run.go", "if !s.gone {", "if s.verb != patch && !s.gone {",
		schedules, "TestRepo/revision/adopted:_Update,_Delete$",
	},
	unguarded("check", "an unchanged entity is checked in a transaction with others", conformance, "TestDefaultEngine/^(Release|Life|Repo)$"),
	{
		"an item of another entity is not overwritten by a copy",
		"repo/plancopy.go", "\tcase !ours:\n\t\treturn p.failedAt", "\tcase false && !ours:\n\t\treturn p.failedAt",
		conformance, "TestDefaultEngine/^Adoption$",
	},
	{
		"Put refuses a stale value",
		"repo/write.go", "case old.stamp != read:", "case false:",
		schedules, "TestRepo/revision/Put,_Put",
	},
	unguarded("remove", "Delete expects the revision that it has read", schedules, "TestRepo/copies/Update_that_moves,_Delete"),
	{
		"DeleteOps expect the revision that was read",
		"repo/ops.go", "{verb: remove, held: read, gone: true, unread: true}", "{verb: erase}",
		schedules, "TestRepo/copies/DeleteOps,_Delete_and_Create",
	},
	{
		"a call with an unknown outcome is not repeated", // by package repo neither, which has a guard of its own
		"table/retry.go", "if !errors.Is(err, ErrConflict) || errors.Is(err, ErrOutcomeUnknown) {", "if !errors.Is(err, ErrConflict) {",
		"./table", "TestRetry",
	},
	{
		"a first version is drawn at random",
		"repo/version.go", "1 + mathrand.Int64N(maxFirst-1)", "1 + 0*mathrand.Int64N(maxFirst-1)",
		schedules, "TestRepo/version/DeleteOps,_Delete_and_Create",
	},
	{
		"a revision is drawn for each write",
		"repo/version.go", "return stamp{revision: rand.Text()}", "return stamp{revision: rand.Text()[:0] + \"same\"}",
		schedules, "TestRepo/revision/Put,_Put",
	},
	{
		"a request expects no record",
		"idempotency/do.go", "op := table.Put(c.r.key(), c.record).If(c.noRecord())", "op := table.Put(c.r.key(), c.record)",
		schedules, "TestIdempotency/Do,_fresh$",
	},
	{
		"a takeover expects an expired record",
		"idempotency/do.go", "op = table.Create(c.r.key(), c.record).If(c.notOwn())", "op = table.Put(c.r.key(), c.record).If(c.notOwn())",
		schedules, "TestIdempotency/Do,_expired$",
	},
	{
		"a takeover does not meet its own record",
		"idempotency/do.go", "op = table.Create(c.r.key(), c.record).If(c.notOwn())", "op = table.Create(c.r.key(), c.record)",
		"./idempotency", ".",
	},
	{
		"an expired record does not count",
		"idempotency/do.go", "(c.own(old) || c.live(old))", "(c.own(old) || true)",
		schedules, "TestIdempotency/Do,_expired$",
	},
	{
		"a request tells its own record from another's",
		"idempotency/do.go", "return item.Text(attributes[attemptMark]) == c.mark", "return item.Text(attributes[attemptMark]) == c.mark+\"x\"",
		schedules, "TestIdempotency/Do,_fresh$",
	},
	{
		"a payload is compared",
		"idempotency/do.go", "len(record.Fingerprint) == 0 || bytes.Equal", "true || bytes.Equal",
		schedules, "TestIdempotency/Do,_two_payloads$",
	},
	{
		"a lost attempt is remembered",
		"idempotency/do.go", "\t\t\tc.unknown = err\n", "\t\t\tc.unknown = nil\n",
		schedules, "TestIdempotency/Do,_(fresh|the_last)",
	},
	{
		"a refusal after a lost attempt is unknown",
		"idempotency/do.go", "failed = cmp.Or(c.unknown, err)", "failed = cmp.Or(err, c.unknown)",
		schedules, "TestKnownRefusal",
	},
	{
		"the record of the request is looked up where the engine does not return it",
		"idempotency/do.go", "case len(old) == 0 && cancelled:", "case cancelled && false:",
		"./idempotency", ".",
	},
	{
		"a walk continues after a response without items",
		"table/walk.go", "\t\tif failed != nil {\n", "\t\tif failed != nil || items.count() == 0 {\n",
		conformance, "TestDefaultEngine/^Sparse$",
	},
	{
		"a page continues until it is full",
		"table/walk.go", "for !r.done && items.count() < limit && r.stats.Requests < r.t.options.MaxRounds {",
		"if !r.done && items.count() < limit && r.stats.Requests < r.t.options.MaxRounds {",
		conformance, "TestDefaultEngine/^(Page|Filter)$",
	},
	{
		"what an older program has made stale is derived again",
		"repo/upgrade.go", "from < shape && (at == nil", "from < 0 && (at == nil",
		schedules, "TestRenaming",
	},
	{
		"an older program does not say that it has derived",
		"repo/version.go", "if shape <= c.shapes.current {", "if shape >= 0 {",
		"./repo", "TestDerivedAgain",
	},
	{
		"what is concluded of several reads is confirmed by one more",
		"repo/load.go", "\tif !maps.EqualFunc(now", "\tif false && !maps.EqualFunc(now",
		schedules, "TestMoving",
	},
	{
		"a claim is deleted only by its owner",
		"repo/claim.go", "return op.IfType(c.claimType()).If(mine).WithName(s.name)", "_ = mine\n\treturn op.IfType(c.claimType()).WithName(s.name)",
		schedules, "TestClaims",
	},
	{
		"a claim that was left behind is written when it is taken up again",
		"repo/claim.go", "case !held, moved, owner != p.old.at,", "case moved, owner != p.old.at,",
		schedules, "TestOrphanedClaim",
	},
	{
		"a claim is removed while its owner does not claim it, and no later",
		"repo/loose.go", "p.steps = []step{away, c.stays(of)}", "p.steps = []step{away}",
		schedules, "TestClaims",
	},
	{
		"a claim is removed while it has no owner, and no later",
		"repo/loose.go", "{away, {verb: none, key: f.item.keys[0], name: c.items[0].Name, main: true}}", "{away}",
		schedules, "TestOrphanedClaim",
	},
	{
		"a refresh does not take another entity's claim for its own",
		"repo/claim.go", "case !ours:\n\t\t\treturn", "case !ours && false:\n\t\t\treturn",
		"./repo", "TestRefreshRepairsClaims",
	},
	{
		"an upsert leaves nothing to derive again",
		"repo/upsert.go", "also = []string{c.shapes.at}", "also = nil",
		schedules, "TestUpsertOfWhatAnOlderReleaseWrites",
	},
	{
		"a claim of the item that was the main one in another release is the entity's own",
		"repo/claim.go", "own := append([]keys.Key{p.old.at}, p.was.keys...)", "own := []keys.Key{p.old.at}",
		schedules, "TestClaimsOfACopyThatBecomesTheMainItem",
	},
	{
		"each holder of a lease has a greater number",
		"lease/lease.go", "state{Number: s.Number + 1}", "state{Number: max(1, s.Number)}",
		"./lease", "TestNumbersGrow",
	},
	{
		"a transaction of a former holder fails",
		"lease/lease.go", "expression.Name(stored.Owner).Equal(expression.Value(l.owner))", "expression.Name(stored.Owner).AttributeExists()",
		"./lease", "TestOneHolderAtATime",
	},
	{
		"a former item is deleted only if the present one has all that it has",
		"repo/loose.go", "case f.kind == formerItem && !c.holds(of.main, f.item):", "case f.kind == formerItem && false:",
		"./repo", "TestPlansOfAJob",
	},
	{
		"what is under a former key is deleted only if it is the entity's",
		"repo/plan.go", "case seen && !ours:", "case false && !ours:",
		"./repo", "TestPlans",
	},
	{
		"a copy that does not decode is no other entity's",
		"repo/plan.go", "\t\treturn false, p.failedAt(key, name, err)\n\t}\n\tif main :=", "\t\treturn false, nil\n\t}\n\tif main :=",
		"./repo", "TestCopiesThatCannotBeToldApart",
	},
	{
		"a copy whose version is of another type is no conflict",
		"repo/plan.go", "\tif err := p.checkStamp(item); err != nil {", "\tif err := p.checkStamp(item); false && err != nil {",
		"./repo", "TestCopiesThatCannotBeToldApart",
	},
	{
		"a version that two entities can have does not say whose a copy is",
		"repo/version.go", "s.version >= leastRandom", "s.version > 0",
		"./repo", "TestVersionsThatTwoEntitiesHave",
	},
	{
		"a write takes index keys from a copy that belong to the main item",
		"repo/plan.go", "case !has && (stored || !read):", "case !has && stored:",
		"./repo", "TestWritesTakeIndexKeysFromCopies",
	},
	{
		"the copy of a map keeps index keys of other releases",
		"repo/plancopy.go", "keeps = p.keepsIndexKey", "keeps = p.isUnknown",
		"./repo", "TestMapsKeepIndexKeysOfOtherReleases",
	},
	{
		"a permanent refusal in a transaction is no conflict",
		"repo/run.go", "case !mayHold(f):", "case false:",
		"./repo", "TestAPermanentRefusalIsNoConflict",
	},
	{
		"an entity is deleted by its former key",
		"repo/update.go", "errors.Is(err, ErrOrphan) && (orphans || len(c.entity.FormerKeys) > 0)", "false",
		"./repo", "TestDeleteBeforeTheMove",
	},
	{
		"a copy that cannot be stored keeps no entity from a deletion",
		"repo/load.go", "\t\tif !c.canHold(key) {", "\t\tif false && !c.canHold(key) {",
		"./repo", "TestEntitiesWhoseCopyCannotBeStored",
	},
	{
		"a job brings over what holds the key of a copy",
		"backfill/walk.go", "case w.Map == nil && !asked && errors.Is(err, table.ErrExists):", "case false && !asked:",
		"./backfill", "TestJobFreesTheKeyOfACopy",
	},
	{
		"a copy does not outlive an expired main item",
		"repo/run.go", "return table.CheckMissing(s.key).WithName(s.name)", "return table.Check(s.key, item.Name(c.schema.PK).AttributeNotExists()).WithName(s.name)",
		conformance, "TestDefaultEngine/Life$",
	},
	{
		"a copy loses the note of upgrades that are no longer compatible",
		"repo/plancopy.go", "c.shapes.derives() && name == c.shapes.at", "name == c.shapes.at",
		"./repo", "TestPlans",
	},
	{
		"a copy of another revision becomes as its main item",
		"repo/plancopy.go", "case own != nil && p.stampOf(own) == p.was.stamp:", "case own != nil:",
		"./repo", "TestPlans",
	},
	{
		"an update keeps what its type does not know",
		"repo/plan.go", "\tif s.diff.tooLong() {\n\t\tmade := p.whole(i, s.key, p.v, s.diff.apply(raw), p.becomes)",
		"\tif all, err := p.encode(p.v); err == nil {\n\t\tmade := p.whole(i, s.key, p.v, all, p.becomes)",
		schedules, "TestReleases",
	},
	{
		"an update sends what has changed",
		"repo/plan.go", "\tif s.diff.tooLong() {\n\t\tmade := p.whole(i, s.key, p.v, s.diff.apply(raw), p.becomes)",
		"\tif true {\n\t\tmade := p.whole(i, s.key, p.v, s.diff.apply(raw), p.becomes)",
		"./repo", "TestRequests",
	},
	{
		"a value that was read in part is marked",
		"table/reader.go", "r.part = r.partial() || len(r.Project) > 0", "r.part = false",
		"./repo", "TestPartsOfItems",
	},
	{
		"a value that was read in part is not written",
		"repo/part.go", "return f.String() == partRevision", "return false",
		"./repo", "TestPartsOfItems",
	},
	{
		"equal sort keys that an index does not declare are an error",
		"shard/merge.go", "case m.r.ties == impossible && (decoded || !dedupe):", "case false && decoded:",
		"./shard", "TestUndeclaredTies$",
	},
	{
		"a page begins at the cursor among equal sort keys",
		"shard/merge.go", "return m.compare(row.position, *after) > 0, nil", "return m.compare(row.position, *after) >= 0, nil",
		conformance, "TestDefaultEngine/^Shard$",
	},
	{
		"items with equal sort keys are in the order of their table keys",
		"shard/merge.go", "cmp.Compare(a.sk, b.sk), cmp.Compare(a.id, b.id), cmp.Compare(a.key.PK, b.key.PK), cmp.Compare(a.key.SK, b.key.SK)",
		"cmp.Compare(a.sk, b.sk), cmp.Compare(a.id, b.id)",
		conformance, "TestDefaultEngine/^Shard$",
	},
	{
		"a lost response makes the outcome unknown",
		"table/attempts.go", "return fmt.Errorf(\"%w: %w\", ErrOutcomeUnknown, err)", "return fmt.Errorf(\"%w\", err)",
		"./table", "TestOutcomeOfAResponse",
	},
	{
		"a write over an expired record needs one attempt",
		"idempotency/do.go", "\t\t\treturn send(ctx)\n", "\t\t\treturn errMoving\n",
		schedules, "TestIdempotency/Do,_expired,_one_attempt$",
	},
	{
		"a hedge costs a token",
		"internal/hedge/hedge.go", "\tif b.parts < partsOfToken {\n", "\tif false {\n",
		"./table", "TestHedge",
	},
	{
		"a request that failed is not hedged",
		"internal/hedge/hedge.go", "if !known || c.call.Failed() {", "if !known {",
		"./table", "TestHedgeFates",
	},
	{
		"writes are not hedged",
		"table/table.go", "hedge.New(\"GetItem\", ", "hedge.New(\"GetItem\", \"PutItem\", \"UpdateItem\", ",
		"./table", "TestWhatIsHedged",
	},
	{
		"a throttled transaction is repeated",
		"table/errors.go", "[]error{ErrConflict, ErrThrottled}", "[]error{ErrConflict}",
		"./table", "TestCancelledTransactions",
	},
	{
		"a response with a wrong checksum is not read",
		"internal/response/receive.go", `case err != nil && response.Header`, `case false && response.Header`,
		"./table", "TestDamagedReads",
	},
	{
		"a response with a wrong checksum settles nothing",
		"table/attempts.go", "return false // it may have said that", "return true",
		"./table", "TestDamagedWrites",
	},
	{
		"values are those that middleware leaves in outputs",
		"table/direct.go", "reads: own && !t.mayRewrite}", "reads: own}",
		"./table", "TestReadsThroughMiddleware",
	},
	{
		"middleware is given a copy of the input",
		"table/send.go", "in = copied(in)", "_ = copied(in)",
		"./table", "TestWritesThroughMiddleware",
	},
	{
		"unprocessed writes are sent again as they were before middleware",
		"table/batchwrite.go", "want = t.sameWrites(want, left)", "want = left",
		"./table", "TestWritesThroughMiddleware",
	},
	{
		"retries are bounded",
		"table/retry.go", "return b.barren < b.most && b.failed < maxPartial*b.most && b.inTime()", "return b.inTime()",
		"./table", "TestBudget",
	},
	{
		"shop: an order takes a piece only if there is one",
		"examples/shop/store/checkout.go", "\t\tIf(stock.GreaterThanEqual(expression.Value(quantity))).\n", "",
		shop, "TestScheduleLastPiece",
	},
	{
		"shop: an e-mail is created, not put",
		"table/requirement.go", `requirement{"attribute_not_exists(" + b.partition(s) + ")"`, `requirement{"attribute_exists(" + b.partition(s) + ") OR attribute_not_exists(" + b.partition(s) + ")"`,
		shop, "TestScheduleUniqueEmail",
	},
	unguarded("patch", "appcore: an approval is of the revision that was read", approvals, "TestScheduleApproval"),
	{
		"cqrs: a row is published only while it waits",
		"examples/cqrs/core/import.go", "table.Delete(row.Key()).If(there).WithName(opRow)",
		"table.Delete(rowEntity.Key(row)).If(there.Or(expression.AttributeNotExists(expression.Name(\"number\")))).WithName(opRow)",
		imports, "TestScheduleImport",
	},
	{
		"cqrs: rows are staged once",
		"examples/cqrs/core/staging.go", ".\n\t\t\t\tIf(staged.Equal(expression.Value(from))),", ",",
		imports, "TestALateImporter",
	},
	{
		"cqrs: a listing is written at the version that was read",
		"examples/cqrs/core/catalogue.go", `[0].IfVersion("version", stored.Version)`, "[0]",
		imports, "TestScheduleCatalogue",
	},
	{
		"blog: a copy replaces no newer one",
		"examples/blog/migrate/copy.go", "ops[0] = ops[0].If(missing.Or(stored.LessThan(expression.Value(*r.Version(&v)))))", "_, _ = stored, missing",
		migration, "TestScheduleMigration",
	},
	{
		"blog: a deleted post is not copied",
		"examples/blog/migrate/copy.go", "return append(ops, r.notMarked(v)), nil", "return ops, nil",
		migration, "TestScheduleMigration",
	},
	{
		"blog: a write to the old table is of its phase",
		"examples/blog/migrate/records.go", "r.Old.Transact(ctx, put, r.holds(v, phase))", "r.Old.Transact(ctx, put)",
		migration, "TestScheduleMigration",
	},
	{
		"usage: a message is counted with its record",
		"examples/usage/metering/consumer.go",
		"idempotency.Exec(ctx, c.store, request(d, m), func(context.Context) ([]table.Op, error) {\n\t\treturn m.ops(time.Duration(c.options.RetentionDays) * day), nil\n\t})",
		"true, c.table.Transact(ctx, m.ops(time.Duration(c.options.RetentionDays) * day)...)",
		messages, "TestScheduleMessage",
	},
	{
		"a vector is written with its partition",
		"table/vector.go", "attributes[x.Attribute] != nil && attributes[p] == nil {", "attributes[x.Attribute] != nil && attributes[p] == nil && false {",
		"./table", "TestWritesOfVectors",
	},
	{
		"a search finds nothing of another tenant",
		"table/items.go", "if !s.isAsked() {", "if false && !s.isAsked() {",
		"./table", "TestSearchResponses",
	},
	{
		"what a search finds is a part",
		"table/search.go", "share := share{part: true,", "share := share{part: false,",
		"./repo", "TestPartsWithoutVectors",
	},
	{
		"what is read through a copy without the vector is a part",
		"repo/core.go", "c.view.Copy = c.isCopy", "_ = c.isCopy",
		"./repo", "TestPartsWithoutVectors",
	},
	{
		"stream: nothing behind a failure is handled",
		"stream/router.go", "if int64(i) >= failed.Load() {\n\t\t\treturn", "if false {\n\t\t\treturn",
		streams, "TestFailures/1",
	},
	{
		"stream: a copy gives no change",
		"stream/handler.go", "\t\tcase main:\n", "\t\tcase main || true:\n",
		streams, "TestOneChangeForAnEntityWithCopies",
	},
	{
		"stream: a change of the version alone is none",
		"stream/handler.go", "if err != nil || len(c.Changed) == 0 {", "if err != nil {",
		streams, "TestUpgrades",
	},
	{
		"stream: an expired entity is missing",
		"stream/handler.go", "case c.Old == nil || expired && !t.Expired(new, r.at):", "case c.Old == nil:",
		streams, "TestExpiry",
	},
	{
		"stream: what no handler is for is refused",
		"stream/router.go", "return fmt.Errorf(\"%w: no handler for type %q\"", "return nil\n\t\treturn fmt.Errorf(\"%w: no handler for type %q\"",
		streams, "TestOtherItems",
	},
	{
		"no function overwrites a field",
		"repo/decided.go", "if slices.Contains(fields, name) {\n\t\t\tp.add(\"Indexes", "if false {\n\t\t\tp.add(\"Indexes",
		"./repo", "TestNewRefusesTwoDeciders",
	},
	{
		"two functions agree about an attribute that both make",
		"repo/item.go", "if decided != nil && !item.Equal(decided, value) {", "if decided != nil && false {",
		"./repo", "TestWritesRefuseTwoDeciders",
	},
	{
		"a value has nothing that the repository decides otherwise",
		"repo/decided.go", "if p := item.PartsOf(given[name]); p.Kind", "if p := item.PartsOf(given[name]); false && p.Kind",
		"./repo", "TestWritesRefuseTwoDeciders",
	},
	{
		"no index has two items of an entity in one partition",
		"repo/decided.go", "if len(c.crowded) > 0 {", "if false {",
		"./repo", "FuzzDeclarations",
	},
	{
		"a lease is read whole, whatever a view of its table reads",
		"internal/lease/lease.go", "return t.Project().OfType(itemType).Consistent()", "return t.OfType(itemType).Consistent()",
		".", "TestViewsOfATable/lease.New",
	},
	{
		"backfill: an entity of the type of jobs is no progress",
		"internal/lease/own.go", "(stored[revision] != nil || stored[asideKey] != nil)", "stored != nil",
		"./backfill", "TestEntityOfTheTypeOfJobs",
	},
	{
		"a request without a payload is no request",
		"idempotency/do.go", "op == opDo && r.lacksPayload()", "op == \"\"",
		"./idempotency", "TestMissingPayload",
	},
	{
		"stream: an item of the library is told by its key, too",
		"internal/lease/own.go", "strings.HasPrefix(item.Text(stored[spec.PK]), itemType+\"#\")", "strings.HasPrefix(itemType, \"\")",
		streams, "TestOwnItemsAreNoChanges",
	},
	{
		"stream: the library's own items are not checkpointed",
		"stream/shard.go", "if !s.Router.own(r.old) || !s.Router.own(r.new) {", "if r != nil {",
		streams, "TestReaderDoesNotFeedItself",
	},
	{
		"stream: an empty response ends no shard",
		"stream/shard.go", "if err == nil && out.Records == nil && out.NextShardIterator == nil {", "if false && out.Records == nil {",
		streams, "TestReaderDoesNotTrustEmptyResponses",
	},
	{
		"stream: a shard that was not begun for a day may have lost records",
		"stream/shard.go", `if p := s.held.State; p.Sequence == "" && p.Tip != 0 &&`, `if p := s.held.State; false && p.Sequence == "" &&`,
		streams, "TestLossBeforeTheFirstRecord",
	},
	{
		"stream: a shard is read after its parent",
		"stream/lineage.go", "l.listed(parent) && !l.positions[parent].Done", "l.listed(parent) && false",
		streams, "TestParentsBeforeChildren",
	},
	{
		"stream: a shard that was deleted unread is a loss",
		"stream/lineage.go", "if !p.Done && !l.listed(shard) {", "if false && !p.Done {",
		streams, "TestLossIsReported/a_shard_without_a_child",
	},
	{
		"stream: a shard that was never seen is a loss",
		"stream/lineage.go", "if !begun && !slices.Contains(roots, shard)", "if false && !begun && !slices.Contains(roots, shard)",
		streams, "TestLossIsReported/a_shard_that_was_never_seen",
	},
}
