// Porcupine judges histories of Holdfast: a lock with fences, and a register behind condition().
//
//	porcupine FILE ...    exits with 1 unless both models accept each history
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const limit = 5 * time.Minute

// verdict returns the models that refuse a history, or cannot judge it within the limit.
func verdict(history []Operation) []string {
	var against []string
	note := func(model string, result porcupine.CheckResult) {
		if result == porcupine.Illegal {
			against = append(against, model)
		} else if result != porcupine.Ok {
			against = append(against, fmt.Sprintf("%s (no verdict within %s)", model, limit))
		}
	}
	note("lock", porcupine.CheckOperationsTimeout(lock, lockHistory(history), limit))
	note("register", porcupine.CheckOperationsTimeout(register, registerHistory(history), limit))
	return against
}

func judge(path string) bool {
	history, err := read(path)
	if err != nil {
		fmt.Println("FAILED ", err)
		return false
	}
	if len(history) == 0 {
		fmt.Println("FAILED ", path, "has no operations")
		return false
	}
	unknown := 0
	for _, op := range history {
		if op.Outcome == "unknown" {
			unknown++
		}
	}
	from := time.Now()
	against := verdict(history)
	took := time.Since(from).Seconds()
	what := fmt.Sprintf("%d operations, %d with an unknown outcome, %.1f s: %s", len(history), unknown, took, path)
	if len(against) > 0 {
		fmt.Println("REFUSED ", what, "by", strings.Join(against, ", "))
		return false
	}
	fmt.Println("accepted", what)
	return true
}

func main() {
	isGood := len(os.Args) > 1
	for _, arg := range os.Args[1:] {
		isGood = judge(arg) && isGood
	}
	if !isGood {
		os.Exit(1)
	}
}
