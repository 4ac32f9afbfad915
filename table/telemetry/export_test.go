package telemetry

import "reflect"

// SketchSize is the number of bytes that counts of partition keys take.
var SketchSize = reflect.TypeFor[sketch]().Size()

// DrawFrom lets a trace take its random numbers from a function. Its secret stays
// random.
func (t *Trace) DrawFrom(random func() float64) { t.sample.random = random }
