package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// request is one step, as it was read.
type request map[string]json.RawMessage

// allow fails if the step names something that this driver would pass over in silence.
func (r request) allow(known ...string) error {
	for name := range r {
		if name != "id" && name != "step" && !slices.Contains(known, name) {
			return unsupported{"no option for " + name}
		}
	}
	return nil
}

func (r request) has(name string) bool { return r[name] != nil }

func read[T any](r request, name string) T {
	var value T
	if raw, found := r[name]; found {
		if err := json.Unmarshal(raw, &value); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
	}
	return value
}

func (r request) text(name string) string { return read[string](r, name) }

func (r request) flag(name string) bool { return read[bool](r, name) }

func (r request) span(name string) time.Duration {
	return time.Duration(read[int64](r, name)) * time.Millisecond
}

// wait tells how long to wait: nil for not at all, or a length.
func (r request) wait() (*time.Duration, error) {
	if string(r["wait"]) == "false" {
		return nil, nil
	}
	if string(r["wait"]) == `"forever"` {
		return nil, unsupported{"it cannot wait for ever"}
	}
	span := r.span("wait")
	return &span, nil
}

func (r request) attributes() (map[string]types.AttributeValue, error) {
	found := map[string]types.AttributeValue{}
	for name, typed := range read[map[string]map[string]any](r, "attributes") {
		switch {
		case typed["S"] != nil:
			found[name] = &types.AttributeValueMemberS{Value: typed["S"].(string)}
		case typed["N"] != nil:
			found[name] = &types.AttributeValueMemberN{Value: typed["N"].(string)}
		case typed["BOOL"] != nil:
			found[name] = &types.AttributeValueMemberBOOL{Value: typed["BOOL"].(bool)}
		default:
			return nil, unsupported{"this driver carries attributes of type S, N and BOOL"}
		}
	}
	return found, nil
}

func shown(attributes map[string]types.AttributeValue) object {
	found := object{}
	for name, value := range attributes {
		switch typed := value.(type) {
		case *types.AttributeValueMemberS:
			found[name] = object{"S": typed.Value}
		case *types.AttributeValueMemberN:
			found[name] = object{"N": typed.Value}
		case *types.AttributeValueMemberBOOL:
			found[name] = object{"BOOL": typed.Value}
		default:
			found[name] = object{"type": fmt.Sprintf("%T", value)}
		}
	}
	return found
}

func kindOf(err error) string {
	var service smithy.APIError
	if errors.As(err, &service) {
		return service.ErrorCode()
	}
	return fmt.Sprintf("%T", err)
}
