package main

import (
	"errors"
	"fmt"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type clientV2 struct{ *dynamolock.Client }

type lockV2 struct{ *dynamolock.Lock }

func openV2(opened request, sort string) (client, error) {
	var options []dynamolock.ClientOption
	if opened.has("partitionKey") {
		options = append(options, dynamolock.WithPartitionKeyName(opened.text("partitionKey")))
	}
	if opened.has("sortKey") {
		options = append(options, dynamolock.WithSortKey(opened.text("sortKey"), sort))
	}
	if opened.has("owner") {
		options = append(options, dynamolock.WithOwnerName(opened.text("owner")))
	}
	if opened.has("leaseMs") {
		options = append(options, dynamolock.WithLeaseDuration(opened.span("leaseMs")))
	}
	if opened.has("beatMs") {
		options = append(options, dynamolock.WithHeartbeatPeriod(opened.span("beatMs")))
	}
	if opened.has("beats") && !opened.flag("beats") {
		options = append(options, dynamolock.DisableHeartbeat())
	}
	table := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(opened.text("endpoint")),
		Region:       "local",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	made, err := dynamolock.New(table, opened.text("table"), options...)
	return clientV2{made}, err
}

func refusedV2(err error) error {
	var refused *dynamolock.LockNotGrantedError
	if errors.As(err, &refused) {
		return refusal{err}
	}
	return err
}

func acquireOptionsV2(step request, tellDanger func()) ([]dynamolock.AcquireLockOption, error) {
	var options []dynamolock.AcquireLockOption
	if step.has("wait") {
		wait, err := step.wait()
		if err != nil {
			return nil, err
		}
		if wait == nil {
			options = append(options, dynamolock.FailIfLocked())
		} else {
			options = append(options, dynamolock.WithAdditionalTimeToWaitForLock(*wait))
		}
	}
	if step.has("pollMs") {
		options = append(options, dynamolock.WithRefreshPeriod(step.span("pollMs")))
	}
	if step.has("data") {
		options = append(options, dynamolock.WithData([]byte(step.text("data"))))
	}
	if step.flag("replaceData") {
		options = append(options, dynamolock.ReplaceData())
	}
	if step.has("attributes") {
		found, err := attributes(step,
			func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} },
			func(number string) types.AttributeValue { return &types.AttributeValueMemberN{Value: number} },
			func(flag bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: flag} })
		if err != nil {
			return nil, err
		}
		options = append(options, dynamolock.WithAdditionalAttributes(found))
	}
	if step.flag("deleteOnRelease") {
		options = append(options, dynamolock.WithDeleteLockOnRelease())
	}
	if step.has("safeMs") {
		options = append(options, dynamolock.WithSessionMonitor(step.span("safeMs"), tellDanger))
	}
	return options, nil
}

func (c clientV2) acquire(step request, tellDanger func()) (lock, error) {
	options, err := acquireOptionsV2(step, tellDanger)
	if err != nil {
		return nil, err
	}
	found, err := c.AcquireLock(step.text("name"), options...)
	return lockV2{found}, refusedV2(err)
}

func (c clientV2) beat(held lock, step request) error {
	var options []dynamolock.SendHeartbeatOption
	if step.has("data") {
		options = append(options, dynamolock.ReplaceHeartbeatData([]byte(step.text("data"))))
	}
	if step.flag("deleteData") {
		options = append(options, dynamolock.DeleteData())
	}
	if step.has("retries") {
		options = append(options, dynamolock.HeartbeatRetries(read[int](step, "retries"), 0))
	}
	if step.flag("ownerOnly") {
		options = append(options, dynamolock.UnsafeMatchOwnerOnly())
	}
	return refusedV2(c.SendHeartbeat(held.(lockV2).Lock, options...))
}

func (c clientV2) release(held lock, step request) (bool, error) {
	var options []dynamolock.ReleaseLockOption
	if step.has("delete") {
		options = append(options, dynamolock.WithDeleteLock(step.flag("delete")))
	}
	if step.has("data") {
		options = append(options, dynamolock.WithDataAfterRelease([]byte(step.text("data"))))
	}
	return c.ReleaseLock(held.(lockV2).Lock, options...)
}

func (c clientV2) get(name string) (lock, error) {
	found, err := c.Get(name)
	return lockV2{found}, err
}

func (c clientV2) createTable(opened request) error {
	var options []dynamolock.CreateTableOption
	if opened.has("partitionKey") {
		options = append(options, dynamolock.WithCustomPartitionKeyName(opened.text("partitionKey")))
	}
	if opened.has("sortKey") {
		options = append(options, dynamolock.WithSortKeyName(opened.text("sortKey")))
	}
	_, err := c.CreateTable(opened.text("table"), options...)
	return err
}

func (c clientV2) close() error { return c.Close() }

func (l lockV2) shown() object {
	found := object{}
	for name, value := range l.AdditionalAttributes() {
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
