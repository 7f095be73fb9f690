// Package web sends HTTP requests through the host.
package web

import (
	"net/url"
	"strconv"

	handler "bubplugin/imports/wasi_http_outgoing_handler"
	http "bubplugin/imports/wasi_http_types"
	"bubplugin/sdk/fail"
	witTypes "go.bytecodealliance.org/pkg/wit/types"
)

const (
	piece   = 64 << 10
	most    = 4 << 20
	seconds = 30
)

// Client sends requests through the host.
type Client struct{}

// Send sends a request, and returns the status and the body of the response.
func (Client) Send(method, address string, headers map[string]string, body []byte) (int, []byte, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return 0, nil, fail.New(fail.InvalidInput, "`%s` is no address", address)
	}
	fields := http.MakeFields()
	if body != nil {
		fields.Append("content-length", []byte(strconv.Itoa(len(body))))
	}
	for name, value := range headers {
		if fields.Append(name, []byte(value)).IsErr() {
			return 0, nil, fail.New(fail.InvalidInput, "header `%s` cannot be sent", name)
		}
	}
	request := http.MakeOutgoingRequest(fields)
	scheme := http.MakeSchemeHttps()
	if parsed.Scheme == "http" {
		scheme = http.MakeSchemeHttp()
	}
	request.SetMethod(verb(method))
	request.SetScheme(witTypes.Some(scheme))
	request.SetAuthority(witTypes.Some(parsed.Host))
	request.SetPathWithQuery(witTypes.Some(parsed.RequestURI()))
	options := http.MakeRequestOptions()
	options.SetFirstByteTimeout(witTypes.Some(uint64(seconds * 1e9)))
	outgoing := request.Body().Ok()
	started := handler.Handle(request, witTypes.Some(options))
	if started.IsErr() {
		return 0, nil, failed(started.Err())
	}
	if len(body) > 0 {
		stream := outgoing.Write().Ok()
		for rest := body; len(rest) > 0; {
			length := min(len(rest), 4096)
			// A server that hangs up in the middle says why in its response, or there is none.
			if stream.BlockingWriteAndFlush(rest[:length]).IsErr() {
				break
			}
			rest = rest[length:]
		}
		stream.Drop()
	}
	http.OutgoingBodyFinish(outgoing, witTypes.None[*http.Fields]())
	coming := started.Ok()
	ready := coming.Subscribe()
	ready.Block()
	ready.Drop()
	answer := coming.Get().Some().Ok()
	if answer.IsErr() {
		return 0, nil, failed(answer.Err())
	}
	response := answer.Ok()
	content, err := contents(response)
	return int(response.Status()), content, err
}

func contents(response *http.IncomingResponse) ([]byte, error) {
	body := response.Consume().Ok()
	stream := body.Stream().Ok()
	defer func() {
		stream.Drop()
		body.Drop()
	}()
	var content []byte
	for {
		read := stream.BlockingRead(piece)
		if read.IsErr() {
			if cause := read.Err(); cause.Tag() == 1 {
				return content, nil
			}
			return nil, fail.New(fail.Temporary, "the answer was cut off")
		}
		content = append(content, read.Ok()...)
		if len(content) > most {
			return nil, fail.New(fail.Unknown, "the answer is larger than %d MiB", most>>20)
		}
	}
}

func verb(method string) http.Method {
	switch method {
	case "GET":
		return http.MakeMethodGet()
	case "POST":
		return http.MakeMethodPost()
	case "PUT":
		return http.MakeMethodPut()
	case "DELETE":
		return http.MakeMethodDelete()
	default:
		return http.MakeMethodOther(method)
	}
}

func failed(code http.ErrorCode) error {
	switch code.Tag() {
	case http.ErrorCode_HttpRequestDenied:
		return fail.New(fail.Denied, "the host refused the request; its log says why")
	case http.ErrorCode_DestinationIpProhibited:
		return fail.New(fail.Denied, "the server's address is not public; grant `http:` with exactly that host")
	case http.ErrorCode_HttpResponseTimeout, http.ErrorCode_ConnectionTimeout, http.ErrorCode_ConnectionReadTimeout:
		return fail.New(fail.Temporary, "it did not answer in time")
	case http.ErrorCode_InternalError:
		if why := code.InternalError(); why.IsSome() {
			return fail.New(fail.Temporary, "%s", why.Some())
		}
	}
	return fail.New(fail.Temporary, "the request failed")
}
