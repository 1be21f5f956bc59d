import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { until } from '../../../fixtures/host/until.js'
import { CHAT_PROTOCOLS, type ChatProtocol, OPENAI_CHAT } from '../../../fixtures/vendors/chat-messages.js'
import { ConformanceTable } from '../../../fixtures/vendors/conformance.js'
import {
  eventStream,
  type FakeOpenAi,
  type FakeReply,
  jsonReply,
  openFakeOpenAi,
} from '../../../fixtures/vendors/fake-openai.js'
import type { Cancellable, LanguageModel, ToolCall } from '../../agent/vendor-ports.js'
import { type Clock, systemClock } from '../../base/clock.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { anthropicLanguageModel } from '../anthropic/llm.js'
import { openAiLanguageModel } from '../openai/llm.js'

/* Duties of every language model, shown for each vendor against its own literal messages. */

interface Asked {
  readonly pieces: string[]
  calls: readonly ToolCall[]
  usage: unknown
  /** `done` or the failure; null while the answer goes on. */
  end: 'done' | EngineError | null
  readonly handle: Cancellable
}

async function setUp(
  t: Test,
  wire: ChatProtocol,
  replies: readonly FakeReply[],
  clock: Clock = systemClock,
): Promise<{ fake: FakeOpenAi; ask(): Asked; bodies(): readonly Record<string, unknown>[] }> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  fake.setDefault(wire.operation, eventStream(wire.text(['Namaste', ' ji.'])))
  fake.enqueue(wire.operation, ...replies)
  const model = modelOf(wire, fake.baseUrl, clock)
  return {
    fake,
    ask: () => ask(model),
    bodies: () => fake.requests.map(({ body }) => JSON.parse(String(body))),
  }
}

function modelOf(wire: ChatProtocol, baseUrl: string, clock: Clock): LanguageModel {
  const deps = { clock, log: silentLog }
  if (wire === OPENAI_CHAT) return openAiLanguageModel({ baseUrl, apiKey: 'secret-key' }, deps)
  const root = baseUrl.replace(/\/v1$/, '')
  return anthropicLanguageModel({ baseUrl: root, apiKey: 'secret-key', maxTokens: 500, extra: {} }, deps)
}

function ask(model: LanguageModel): Asked {
  const asked: Omit<Asked, 'handle'> = { pieces: [], calls: [], usage: null, end: null }
  const handle = model.generate(
    {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'नमस्ते' },
      ],
      tools: [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }],
    },
    {
      text: (delta) => asked.pieces.push(delta),
      toolCalls: (calls) => {
        asked.calls = calls
      },
      done: (usage) => {
        asked.usage = usage
        asked.end = 'done'
      },
      failed: (error) => {
        asked.end = error
      },
    },
  )
  return Object.assign(asked, { handle })
}

async function ended(asked: Asked): Promise<Asked> {
  await until(() => asked.end !== null)
  return asked
}

const TABLE = new ConformanceTable()

for (const wire of CHAT_PROTOCOLS) {
  t.test(wire.name, async (t) => {
    const proves = TABLE.column(t, wire.name)

    proves('requests a stream of the model, with its tools, and authenticates', async (t) => {
      const { fake, ask, bodies } = await setUp(t, wire, [])
      await ended(ask())
      t.equal(fake.requests[0]?.path, wire.path)
      t.equal(fake.requests[0]?.headers[wire.auth[0]], wire.auth[1])
      t.match(bodies()[0], { model: 'm', stream: true })
      t.match(JSON.stringify(bodies()[0]?.tools), /"name":"book"/)
    })

    proves('a text arrives in its pieces, and the tokens are counted', async (t) => {
      const { ask } = await setUp(t, wire, [])
      const { pieces, calls, usage, end } = await ended(ask())
      t.same(pieces, ['Namaste', ' ji.'])
      t.same(calls, [])
      t.same(usage, wire.usage)
      t.equal(end, 'done')
    })

    proves('a tool call is put together from its pieces', async (t) => {
      const { ask } = await setUp(t, wire, [eventStream(wire.toolCall)])
      const { pieces, calls, end } = await ended(ask())
      t.same(pieces, [])
      t.match(calls, [{ id: /./, ...wire.call }])
      t.equal(end, 'done')
    })

    proves('a reply is read by what it holds, whatever its label and line ends', async (t) => {
      const text = wire.text(['Namaste', ' ji.']).join('')
      const bodies = [
        text,
        `\ufeff: proxy\n\n${text}`,
        text.replaceAll('\n', '\r\n'),
        text.replaceAll('\n', '\r'),
      ]
      const labels = ['application/json', 'text/plain', 'application/x-ndjson', 'text/event-stream']
      for (const [n, body] of bodies.entries()) {
        const reply = { headers: { 'content-type': labels[n] ?? '' }, steps: [{ send: body }] }
        const { ask } = await setUp(t, wire, [reply])
        const { pieces, usage, end } = await ended(ask())
        t.same([pieces.join(''), usage, end], ['Namaste ji.', wire.usage, 'done'], `${labels[n]}`)
      }
    })

    proves('a call whose arguments cannot be read is marked, and does not fail the reply', async (t) => {
      const frames = wire.toolCall.filter((frame) => !/(?:done|Monday)\\"/.test(frame))
      t.equal(frames.length, wire.toolCall.length - 1)
      const { ask } = await setUp(t, wire, [eventStream(frames)])
      const { calls, end } = await ended(ask())
      t.match(calls, [{ name: wire.call.name, arguments: {}, unusable: /JSON/ }])
      t.equal(end, 'done')
    })

    proves('a vendor that stalls, before its answer or within it, fails at the deadline', async (t) => {
      const stall = { headers: { 'content-type': 'text/event-stream' } }
      for (const frames of [[], wire.broken]) {
        const clock = new VirtualClock()
        const reply = { ...stall, steps: [...frames.map((send) => ({ send })), { stall: true } as const] }
        const { fake, ask } = await setUp(t, wire, [reply], clock)
        const asked = ask()
        await fake.until(() => fake.requests.length === 1)
        await until(() => asked.pieces.length === (frames.length === 0 ? 0 : 1))
        await until(() => {
          clock.advance(1000)
          return asked.end !== null
        })
        t.match(asked.end, { code: 'vendor_stalled', retryable: true })
        t.equal(fake.requests.length, 1)
        t.equal(clock.pending, 0)
      }
    })

    proves('a connection that is cut in the answer is a failure', async (t) => {
      const cut = {
        headers: { 'content-type': 'text/event-stream' },
        steps: [...wire.broken.map((send) => ({ send })), { cut: true } as const],
      }
      for (const reply of [cut, eventStream(wire.broken)]) {
        const { fake, ask } = await setUp(t, wire, [reply])
        const { pieces, end } = await ended(ask())
        t.same(pieces, ['Na'])
        t.match(end, { code: 'vendor_failed', retryable: true })
        t.equal(fake.requests.length, 1, 'words were heard, so that nothing is repeated')
      }
    })

    proves('a rejected key is not retried', async (t) => {
      const { fake, ask } = await setUp(t, wire, [jsonReply(wire.refusal(401, 'bad key'), 401)])
      const { end } = await ended(ask())
      t.match(end, { code: 'vendor_rejected', retryable: false, message: /401.*bad key/ })
      t.equal(fake.requests.length, 1)
    })

    proves('a rate limit that ends soon is waited for, a longer one is a failure', async (t) => {
      const limited = (seconds: string) =>
        jsonReply(wire.refusal(429, 'slow down'), 429, { 'retry-after': seconds })
      const soon = await setUp(t, wire, [limited('0')])
      t.equal((await ended(soon.ask())).end, 'done')
      t.equal(soon.fake.requests.length, 2)
      const late = await setUp(t, wire, [limited('20')])
      t.match((await ended(late.ask())).end, { code: 'vendor_rate_limited', retryable: true })
      t.equal(late.fake.requests.length, 1)
    })

    proves('a field that the vendor refuses by name is left out from then on', async (t) => {
      const { field, body } = wire.refusedField
      const { ask, bodies } = await setUp(t, wire, [jsonReply(body, 400)])
      for (let n = 0; n < 2; n++) t.equal((await ended(ask())).end, 'done')
      t.same(
        bodies().map((sent) => field in sent),
        [true, false, false],
      )
    })

    proves('nothing follows a cancellation, and the connection is closed', async (t) => {
      const stalled = {
        headers: { 'content-type': 'text/event-stream' },
        steps: [...wire.broken.map((send) => ({ send })), { stall: true } as const],
      }
      const { fake, ask } = await setUp(t, wire, [stalled])
      const asked = ask()
      await until(() => asked.pieces.length === 1)
      asked.handle.cancel()
      await fake.until(() => fake.requests[0]?.aborted === true)
      t.same([asked.pieces, asked.end], [['Na'], null])
    })
  })
}

t.test('docs/vendors.md shows the cases', async (t) => TABLE.check(t))
