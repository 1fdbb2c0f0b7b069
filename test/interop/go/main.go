// Driver lets another process use dynamolock, by lines of JSON: see ../README.md. Its argument says which of the
// client's versions: v1 or v2. Each step runs in a goroutine of its own, so that one that waits does not keep
// others from being carried out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

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

// version of a module, as it was built in.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func main() {
	if len(os.Args) != 2 || makers[os.Args[1]].open == nil {
		panic("which version of the client: v1 or v2?")
	}
	made := makers[os.Args[1]]
	say(object{"event": "ready", "client": made.module, "version": version(made.module)})
	driver := newDriver(made.open)
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
