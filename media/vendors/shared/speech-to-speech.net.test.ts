import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { ConformanceTable } from '../../../fixtures/vendors/conformance.js'
import { SPOKEN_VENDORS, type SpokenVendor } from '../../../fixtures/vendors/spoken-vendors.js'
import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import type {
  Cancellable,
  ChatMessage,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  ToolCall,
  VendorFailure,
} from '../../agent/vendor-ports.js'

/* Duties of every speech-to-speech model, shown for each vendor against its own literal messages. */

/** One reply as it came. */
class Reply {
  ms = 0
  words = ''
  item = ''
  calls: readonly ToolCall[] | null = null
  usage: TokenCount | null = null
  failure: VendorFailure | null = null
  readonly events: SpokenReplyEvents

  constructor(order: string[] = []) {
    this.events = {
      audio: (item, pcm, rate) => {
        this.item = item
        this.ms += (pcm.length * 1000) / rate
      },
      words: (_item, piece) => {
        this.words += piece
      },
      progress: () => {},
      done: (calls, usage) => {
        this.calls = calls
        this.usage = usage
      },
      failed: (error) => {
        order.push('reply')
        this.failure = error
      },
    }
  }
}

interface Rig {
  readonly vendor: SpokenVendor
  readonly clock: VirtualClock
  readonly stream: SpeechToSpeechStream
  readonly committed: string[]
  readonly transcripts: [string, string | null][]
  readonly failures: VendorFailure[]
  /** Failures in their order: of the connection and of replies. */
  readonly order: string[]
  ask(mayUseTools?: boolean): Reply & Cancellable
  /** Waits until the session is set up. */
  ready(): Promise<void>
}

async function rig(
  t: Test,
  start: () => Promise<SpokenVendor>,
  {
    history = [],
    prepare = () => {},
  }: { readonly history?: readonly ChatMessage[]; readonly prepare?: (vendor: SpokenVendor) => void } = {},
): Promise<Rig> {
  const vendor = await start()
  prepare(vendor)
  const clock = new VirtualClock()
  const committed: string[] = []
  const transcripts: [string, string | null][] = []
  const failures: VendorFailure[] = []
  const order: string[] = []
  const stream = vendor.open(clock).open(
    {
      rate: 8000,
      model: 'm',
      voice: 'v',
      pace: 1,
      language: 'en-IN',
      instructions: 'You are Asha.',
      tools: [{ name: 'book', description: 'Books a day.', parameters: { type: 'object', properties: {} } }],
      history,
    },
    {
      callerStarted: () => {},
      callerStopped: () => {},
      committed: (item) => committed.push(item),
      transcript: (item, text) => transcripts.push([item, text]),
      failed: (error) => {
        order.push('connection')
        failures.push(error)
      },
    },
  )
  t.teardown(async () => {
    stream.close()
    await vendor.close()
    if (clock.pending > 0) throw new Error(`${clock.pending} timers are left`)
  })
  return {
    vendor,
    clock,
    stream,
    committed,
    transcripts,
    failures,
    order,
    ask: (mayUseTools = true) => {
      const reply = new Reply(order)
      return Object.assign(reply, stream.respond({ mayUseTools }, reply.events))
    },
    ready: () => until(() => vendor.socket.connections.at(-1)?.texts.some(vendor.isSetup) === true),
  }
}

/** Writes speech of the caller in frames of 20 ms. */
function speak(stream: SpeechToSpeechStream, ms: number): void {
  for (let n = 0; n < ms / 20; n++) stream.write(new Int16Array(160).fill(2000 + n))
}

const done = (reply: Reply) => until(() => reply.calls !== null || reply.failure !== null)

const TABLE = new ConformanceTable()

for (const { name, start } of SPOKEN_VENDORS) {
  t.test(name, async (t) => {
    const proves = TABLE.column(t, name)

    proves('the session is set up first, and audio from before it follows in full', async (t) => {
      const { vendor, stream } = await rig(t, start)
      speak(stream, 1000)
      await until(() => vendor.socket.connections.length === 1 && vendor.callerSamples() === 8000)
      const [first] = vendor.socket.last.texts
      t.ok(vendor.isSetup(first ?? {}))
      const setUp = JSON.stringify(vendor.socket.last.texts.filter(vendor.isSetup))
      for (const part of ['You are Asha.', '"name":"book"']) t.ok(setUp.includes(part), part)
    })

    proves('a turn of the caller is transcribed, and answered with audio and its words', async (t) => {
      const { vendor, stream, committed, transcripts, ask } = await rig(t, start)
      vendor.hears('Are you open?')
      vendor.answers({ words: 'Yes, we are.', ms: 500 })
      speak(stream, 400)
      stream.commit()
      const reply = ask()
      await done(reply)
      await until(() => transcripts.length === 1)
      t.equal(vendor.callerSamples(), 3200)
      t.same(transcripts, [[committed[0], 'Are you open?']])
      t.equal(committed.length, 1)
      t.match(reply, { words: 'Yes, we are.', ms: 500, calls: [], failure: null })
      t.not(reply.item, '')
    })

    proves('the tokens of sound are counted', async (t) => {
      const { ask } = await rig(t, start)
      const replies = [ask(), ask()]
      for (const reply of replies) await done(reply)
      // A vendor may tell the tokens of a reply only after its end.
      t.match(
        replies.find(({ usage }) => usage !== null),
        { usage: { promptTokens: Number, sound: { completionTokens: Number } } },
      )
    })

    proves('a tool is called with its arguments, and its result leads to the next answer', async (t) => {
      const { vendor, stream, ask } = await rig(t, start)
      const call = { id: 'call-7', name: 'book', arguments: { day: 'tomorrow' } }
      vendor.answers({ call }, { words: 'It is booked.' })
      const first = ask()
      await done(first)
      t.same(first.calls, [call])
      stream.toolResult('call-7', 'booked')
      const second = ask(false)
      await done(second)
      t.same(vendor.toolResults(), [{ id: 'call-7', output: 'booked' }])
      t.equal(second.words, 'It is booked.')
    })

    proves('replies wait for one another', async (t) => {
      const { vendor, ask } = await rig(t, start)
      vendor.answers({ words: 'One.', ms: 200 }, { words: 'Two.', ms: 400 })
      const replies = [ask(), ask()]
      for (const reply of replies) await done(reply)
      t.same(
        replies.map(({ words, ms }) => [words, ms]),
        [
          ['One.', 200],
          ['Two.', 400],
        ],
      )
    })

    proves('an interrupted reply says no more, and the caller is answered', async (t) => {
      const { vendor, stream, failures, ask } = await rig(t, start)
      vendor.answers({ words: 'One two three.', ms: 900, endless: true }, { words: 'Go on.', ms: 300 })
      const first = ask()
      await until(() => first.ms === 900 && first.words === 'One two three.')
      speak(stream, 200)
      first.cancel()
      stream.truncate(first.item, 400)
      stream.commit()
      const second = ask()
      await done(second)
      t.match(second, { words: 'Go on.', ms: 300 })
      t.match(first, { words: 'One two three.', ms: 900, calls: null, failure: null })
      t.same(failures, [])
    })

    proves('a phrase is spoken word for word', async (t) => {
      const { stream } = await rig(t, start)
      const phrase = new Reply()
      stream.say('One moment please.', phrase.events)
      await done(phrase)
      t.equal(phrase.words, 'One moment please.')
      t.ok(phrase.ms > 0)
    })

    proves('a new connection is told the conversation so far', async (t) => {
      const history: readonly ChatMessage[] = [
        { role: 'user', content: 'Is Monday free?' },
        { role: 'assistant', content: null, toolCalls: [{ id: 'c', name: 'book', arguments: {} }] },
        { role: 'tool', toolCallId: 'c', content: 'Free at nine.' },
        { role: 'assistant', content: 'Monday is free.' },
      ]
      const { vendor, ask } = await rig(t, start, { history })
      await done(ask())
      const sent = JSON.stringify(vendor.socket.last.texts)
      const places = ['Is Monday free?', 'Free at nine.', 'Monday is free.'].map((text) => sent.indexOf(text))
      t.ok(places[0] !== -1)
      t.same(
        places,
        places.toSorted((a, b) => a - b),
        'in its order',
      )
    })

    proves('unknown messages are ignored', async (t) => {
      const { vendor, failures, ask, ready } = await rig(t, start)
      await ready()
      vendor.sendOddities()
      const reply = ask()
      await done(reply)
      t.equal(reply.words, 'Yes.')
      t.same(failures, [])
    })

    proves('a rejected key is permanent, an overloaded host is not', async (t) => {
      const rejected = await rig(t, start, { prepare: (vendor) => vendor.refuseKey() })
      await until(() => rejected.failures.length === 1)
      t.match(rejected.failures, [{ code: 'vendor_rejected', retryable: false, message: /API key/ }])
      t.notMatch(rejected.failures[0]?.message, /secret-key/)
      const busy = await rig(t, start, {
        prepare: ({ socket }) => socket.refuse({ status: 503, body: 'busy' }),
      })
      await until(() => busy.failures.length === 1)
      t.match(busy.failures, [{ code: 'vendor_failed', retryable: true }])
    })

    proves('a lost connection fails, then its replies, and nothing follows', async (t) => {
      const { vendor, stream, failures, order, ask } = await rig(t, start)
      vendor.answers({ words: 'One', ms: 200, endless: true })
      const reply = ask()
      const waiting = ask()
      await until(() => reply.ms === 200)
      vendor.socket.last.break()
      await until(() => waiting.failure !== null)
      t.same(order, ['connection', 'reply', 'reply'])
      t.match(failures, [{ retryable: true }])
      t.equal(reply.failure, failures[0])
      t.equal(waiting.failure, failures[0])
      speak(stream, 100)
      stream.commit()
      stream.close()
      t.equal(order.length, 3)
    })

    proves('a session that never opens is given up', async (t) => {
      const { vendor, clock, failures, ask } = await rig(t, start, {
        prepare: ({ socket }) => {
          socket.script = {}
        },
      })
      const reply = ask()
      await until(() => vendor.socket.connections.length === 1)
      await until(() => {
        clock.advance(1000)
        return failures.length === 1
      })
      t.match(failures, [{ code: /^vendor_(stalled|unreachable)$/, retryable: true }])
      t.equal(reply.failure, failures[0])
      t.equal(clock.pending, 0)
    })

    proves('a half-open connection is detected', async (t) => {
      const { vendor, clock, failures, ask } = await rig(t, start)
      await done(ask())
      vendor.socket.last.freeze()
      for (let n = 0; n < 3; n++) clock.advance(10_000)
      await until(() => failures.length === 1)
      t.match(failures, [{ code: 'vendor_stalled', retryable: true }])
    })

    proves('closes properly, and no event follows', async (t) => {
      const { vendor, clock, stream, order, ask } = await rig(t, start)
      vendor.answers({ words: 'One', ms: 200, endless: true })
      const reply = ask()
      await until(() => reply.ms === 200)
      stream.close()
      stream.close()
      speak(stream, 100)
      await until(() => vendor.socket.last.closeCode === 1000)
      t.same(order, [])
      t.match(reply, { calls: null, failure: null })
      t.equal(clock.pending, 0)
    })
  })
}

t.test('docs/vendors.md shows the cases', async (t) => TABLE.check(t))
