// Command buraco-go-bot takes a seat and plays the match with legal moves chosen at random, over PlayTable.
//
// It shows what a client in Go has to do: it resumes its stream behind the last revision it has seen, repeats a move that
// got no answer under the same request id, and decides by the reasons of errors. See README.md.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"os"
	"os/signal"
	"time"

	buracov1 "buraco/clients/go/gen/buraco/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Repeated calls and look-ups are spread over all replicas, and single calls are repeated by gRPC itself.
const serviceConfig = `{
	"loadBalancingConfig": [{"round_robin": {}}],
	"methodConfig": [{
		"name": [{"service": "buraco.v1.TableService", "method": "JoinTable"}],
		"retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
			"retryableStatusCodes": ["UNAVAILABLE"]}
	}]
}`

// maxPause bounds the pause between two attempts to open the stream again.
const maxPause = 2 * time.Second

// bot is one seat's player. Its methods are not called at the same time.
type bot struct {
	tables  buracov1.TableServiceClient
	tableID string
	// seen is the newest revision that has come; without one the stream begins with the whole state.
	seen *uint64
	// pending is the move that has no answer yet. A repeat of it, on any stream, changes nothing more.
	pending *buracov1.PlaySubmit
	// scores are those of the match once it is over, one a side.
	scores []int32
}

func main() {
	server := flag.String("server", "dns:///localhost:50051", "the service, plain text")
	tableID := flag.String("table", "", "the table to join")
	name := flag.String("name", "Gopher", "the player's name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *server, *tableID, *name); err != nil {
		log.Fatal(describe(err))
	}
}

func run(ctx context.Context, server, tableID, name string) error {
	connection, err := grpc.NewClient(server,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(serviceConfig))
	if err != nil {
		return err
	}
	defer connection.Close()
	tables := buracov1.NewTableServiceClient(connection)
	joined, err := tables.JoinTable(ctx, &buracov1.JoinTableRequest{TableId: tableID, PlayerName: name, RequestId: newID()})
	if err != nil {
		return err
	}
	log.Printf("seat %d", joined.GetSeat())
	player := &bot{tables: tables, tableID: tableID}
	// The token proves the seat from here on.
	if err := player.play(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+joined.GetToken())); err != nil {
		return err
	}
	fmt.Printf("scores %v\n", player.scores)
	return nil
}

// play follows the table until its match is over, on as many streams as that takes.
func (b *bot) play(ctx context.Context) error {
	for pause := time.Duration(0); b.scores == nil; {
		before := b.seen
		err := b.follow(ctx)
		if b.scores != nil {
			return nil
		}
		if !isPassing(err) || ctx.Err() != nil {
			return err
		}
		// A stream that brought something new begins the pauses anew.
		if b.seen != before {
			pause = 0
		}
		pause = min(2*pause+50*time.Millisecond, maxPause)
		log.Printf("the stream ended (%v), again in %v", describe(err), pause)
		time.Sleep(pause)
	}
	return nil
}

// follow plays on one stream. It returns nil, io.EOF or the status with which the stream has ended.
func (b *bot) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := b.tables.PlayTable(ctx)
	if err != nil {
		return err
	}
	opening := &buracov1.PlayOpen{TableId: b.tableID, AfterRevision: b.seen, LegalMoves: true}
	if err := stream.Send(&buracov1.PlayTableRequest{Request: &buracov1.PlayTableRequest_Open{Open: opening}}); err != nil {
		return cause(stream, err)
	}
	if b.pending != nil {
		if err := b.submit(stream, b.pending); err != nil {
			return err
		}
	}
	for {
		update, err := stream.Recv()
		if err != nil {
			return err
		}
		switch {
		case update.GetState() != nil:
			table := update.GetState().GetTable()
			b.note(table.GetRevision(), nil)
			if table.GetState() == buracov1.TableState_TABLE_STATE_FINISHED {
				b.scores = table.GetResult().GetScores()
			}
		case update.GetEvents() != nil:
			b.note(update.GetEvents().GetRevision(), update.GetEvents().GetEvents())
		case update.GetAnswer() != nil:
			if err := b.answered(update.GetAnswer()); err != nil {
				return err
			}
		case update.GetTurn() != nil && b.pending == nil:
			moves := update.GetTurn().GetMoves()
			chosen := []*buracov1.Move{moves[mathrand.IntN(len(moves))]}
			revision := update.GetTurn().GetRevision()
			if err := b.submit(stream, &buracov1.PlaySubmit{Moves: chosen, Revision: &revision, RequestId: newID()}); err != nil {
				return err
			}
		case update.GetReconnect() != nil:
			return nil
		}
	}
}

func (b *bot) submit(stream buracov1.TableService_PlayTableClient, move *buracov1.PlaySubmit) error {
	b.pending = move
	err := stream.Send(&buracov1.PlayTableRequest{Request: &buracov1.PlayTableRequest_Submit{Submit: move}})
	return cause(stream, err)
}

// answered takes the answer to the pending move. The error of one that can never be played is returned.
func (b *bot) answered(answer *buracov1.PlayAnswer) error {
	if b.pending == nil || answer.GetRequestId() != b.pending.GetRequestId() {
		return nil
	}
	refusal := answer.GetError()
	switch {
	case refusal == nil:
		b.pending = nil
		b.note(answer.GetAccepted().GetRevision(), answer.GetAccepted().GetEvents())
		return nil
	case refusal.GetReason() == "REVISION_STALE":
		// Something else has happened first, and the next turn follows if there is one.
		b.pending = nil
		return nil
	default:
		// What passes is sent again on the next stream.
		return status.Error(codes.Code(refusal.GetCode()), refusal.GetReason())
	}
}

func (b *bot) note(revision uint64, events []*buracov1.Event) {
	b.seen = &revision
	for _, event := range events {
		if ended := event.GetMatchEnded(); ended != nil {
			b.scores = ended.GetScores()
		}
	}
}

// cause returns why a stream could not be written to, which gRPC tells only whoever reads it.
func cause(stream buracov1.TableService_PlayTableClient, err error) error {
	if errors.Is(err, io.EOF) {
		_, err = stream.Recv()
	}
	return err
}

// isPassing tells whether another stream may go on where one has ended.
func isPassing(err error) bool {
	if err == nil || errors.Is(err, io.EOF) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.ResourceExhausted, codes.Aborted:
		return true
	default:
		return false
	}
}

// describe returns an error with its reason, such as TABLE_FULL, if it has one.
func describe(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason() + ": " + status.Convert(err).Message()
		}
	}
	return fmt.Sprint(err)
}

func newID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return fmt.Sprintf("%x", id)
}
