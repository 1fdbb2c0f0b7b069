// Driver lets another process use dynamolock, by lines of JSON: see ../README.md. Each step runs in a
// goroutine of its own, so that one that waits does not keep others from being carried out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

const module = "cirello.io/dynamolock/v2"

type object = map[string]any

// unsupported is what the client has no counterpart for.
type unsupported struct{ why string }

func (u unsupported) Error() string { return u.why }

var output sync.Mutex

func say(line object) {
	output.Lock()
	defer output.Unlock()
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", text)
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func main() {
	say(object{"event": "ready", "client": module, "version": version()})
	driver := newDriver()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var step request
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			panic(err)
		}
		go answer(driver, step)
	}
	// Nobody is left to drive it: it dies as it is, without releasing anything.
}

func answer(driver *driver, step request) {
	result, err := driver.run(step)
	line := object{"id": step["id"]}
	if missing, ok := err.(unsupported); ok {
		line["unsupported"] = true
		line["why"] = missing.why
	} else if err != nil {
		line["error"] = object{"kind": kindOf(err), "message": err.Error()}
	} else {
		line["ok"] = true
		for name, value := range result {
			line[name] = value
		}
	}
	say(line)
	if step.text("step") == "quit" {
		os.Exit(0)
	}
}
