// Command soak tries the library's promises.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/singletable/singletable/internal/soak/load"
	"github.com/singletable/singletable/internal/soak/report"
)

func main() {
	load.Victim()
	var c load.Config
	flag.Uint64Var(&c.Seed, "seed", rand.Uint64(), "seed")
	flag.IntVar(&c.Ops, "ops", 0, "ops")
	flag.IntVar(&c.Workers, "workers", 4, "workers")
	flag.DurationVar(&c.Duration, "duration", 20*time.Second, "")
	flag.Parse()
	fmt.Println("seed", c.Seed)
	var r report.Report
	err := load.Run(context.Background(), c, &r)
	r.Print(os.Stdout)
	fmt.Println(err, r.Verdict(load.Expected()))
}
