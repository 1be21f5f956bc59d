import t from 'tap'
import { decodeG711, encodeG711 } from '../../../fixtures/audio/g711.js'
import { levelDbfs, tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { type Bot, type BotCall, openBot } from '../../../fixtures/bots/bot.js'
import { BOT_PROTOCOLS, type BotProtocol, encodeFor } from '../../../fixtures/bots/bot-messages.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { seeded } from '../../../fixtures/host/random.js'
import { type Caller, type CallerTest, call } from '../../../fixtures/service/caller.js'

/*
 * Every type of bot, with one call that uses every feature and three that end in different ways: SIP, RTP and
 * WebSocket on real sockets, in virtual time.
 */

const service = await openByoService(t, { virtual: true })
t.jobs = 5

const DTMF = 101

/** Unlike any other signal of the call, and without samples that G.711 changes. */
function noise(seed: number, ms: number): Int16Array {
  const random = seeded(seed)
  const pcm = Int16Array.from({ length: ms * 8 }, () => Math.round((random.next() - 0.5) * 8000))
  return decodeG711('PCMU', encodeG711('PCMU', pcm))
}

interface Line {
  readonly caller: Caller
  readonly there: BotCall
  readonly callId: string
}

async function ring(t: CallerTest, wire: BotProtocol, bot: Bot, to: string): Promise<Line> {
  const index = bot.calls.length
  const codec = wire.endpoint.format === 'alaw' ? 'PCMA' : 'PCMU'
  const caller = await call(t, service, { to, rtp: { codec } })
  await caller.answered()
  const there = await bot.call(index)
  await there.until('the first messages', () => there.messages.length >= 4)
  return { caller, there, callId: await caller.callId() }
}

/** Returns a tone in the bot's format. */
const sound = ({ endpoint }: BotProtocol, hz: number, ms: number) =>
  encodeFor(endpoint.format, tone(hz, ms, endpoint.sampleRate))

/** Returns the received audio packets from `from` on that contain the tone. */
function packetsOf({ caller }: Line, hz: number, from = 0) {
  const [first] = caller.rtp.audio().slice(from)
  const held = caller.rtp.holding(hz)
  return from === 0
    ? held
    : held.filter(({ sequence }) => first !== undefined && (sequence - first.sequence) << 16 >= 0)
}

for (const [index, wire] of BOT_PROTOCOLS.entries()) {
  t.test(wire.name, { buffered: true, timeout: 150_000 }, async (t) => {
    const bot = await openBot(t, { clock: service.clock })
    const { e164 } = await service.routed({ ...wire.endpoint, url: `${bot.url}/bot` }, wire.secret)

    await t.test('a call', async (t) => {
      const line = await ring(t, wire, bot, e164)
      const { caller, there, callId } = line

      // (a) The opening request.
      t.match(there.headers, { [wire.header[0]]: wire.header[1], 'x-call-id': /^[0-9a-f-]{36}$/ })
      t.equal(there.headers['sec-websocket-extensions'], undefined, 'no compression')

      // (b) The caller's audio, bit by bit.
      const said = noise(index + 1, 400)
      const exact = wire.exact(encodeG711('PCMU', said), said)
      if (exact !== null) {
        for (let tries = 0; tries < 3 && !wire.audio(there).includes(exact); tries++) {
          await caller.rtp.say(said).done
          const had = wire.audio(there).length
          await there.until('the end of it', () => wire.audio(there).length > had + exact.length / 2)
        }
        t.ok(wire.audio(there).includes(exact), 'what was said arrived as it was')
      } else {
        const spoken = tone(700, 600)
        await caller.rtp.say(spoken).done
        const rate = wire.endpoint.sampleRate
        const piece = rate / 20
        let looked = 0
        let pieces = 0
        /** Pieces of 50 ms that contain the tone; each is examined once. */
        const holding = () => {
          const bytes = wire.audio(there)
          for (; (looked + piece) * 2 <= bytes.length; looked += piece) {
            const pcm = Int16Array.from({ length: piece }, (_, i) => bytes.readInt16LE((looked + i) * 2))
            if (toneLevel(pcm, 700, rate) > 0.25) pieces++
          }
          return pieces
        }
        await there.until('the tone', () => holding() >= 6)
      }

      // (c) A burst in pieces of any length arrives in order and without a gap.
      const burst = Buffer.concat([600, 900, 1200].map((hz) => sound(wire, hz, 200)))
      const before = caller.rtp.audio().length
      // Audio to play while the pieces arrive, so that a stalled host causes no gap.
      there.send(wire.play(sound(wire, 500, 200)))
      for (let from = 0, piece = 1; from < burst.length; piece = piece * 3 + 4) {
        there.send(wire.play(burst.subarray(from, from + piece)))
        from += piece
      }
      // (d) The mark is sent after all of its audio was played.
      there.send(wire.mark('end of burst'))
      await there.until('the mark', () => wire.marks(there).length === 1)
      const heardAt = there.messages.at(-1)?.atMs ?? 0
      await caller.until('the burst', () => packetsOf(line, 1200, before).length >= 9)
      const loud = caller.rtp
        .audio()
        .slice(before)
        .filter((packet) => levelDbfs(decodeG711(caller.rtp.codec, packet.payload)) > -40)
      const [first] = loud
      const last = loud.at(-1)
      t.ok(loud.length >= 39 && loud.length <= 43, `800 ms are ${loud.length} packets`)
      const between = caller.rtp
        .audio()
        .slice(before)
        .filter(
          ({ timestamp }) => timestamp >= (first?.timestamp ?? 0) && timestamp <= (last?.timestamp ?? 0),
        )
      t.equal(between.length, loud.length, 'no silence in it')
      const order = [500, 600, 900, 1200].map((hz) => packetsOf(line, hz, before)[0]?.sequence ?? 0)
      t.strictSame(
        order,
        [...order].sort((a, b) => ((a - b) << 16) >> 16),
        'in order',
      )
      t.ok(heardAt > (first?.atMs ?? 0) + 300, 'not before it was played')

      // (e), (j) One message of several seconds; clear silences and settles the queued audio.
      there.send(wire.play(sound(wire, 800, 5000)))
      there.send(wire.mark('pending 1'))
      there.send(wire.mark('pending 2'))
      await caller.until('some of it', () => packetsOf(line, 800).length >= 10)
      const heard = packetsOf(line, 800).length
      there.send(wire.clear)
      there.send(wire.mark('after'))
      const all = () => wire.marks(there).slice(1)
      await there.until('the mark behind it', () => all().some((mark) => mark.startsWith('after')))
      const status = wire.cleared.pending === 'status'
      t.strictSame(
        all(),
        wire.cleared.pending === 'none'
          ? ['after']
          : status
            ? [
                'pending 1 cleared',
                'pending 2 cleared',
                `after ${wire.endpoint.type === 'jambonz' ? 'playout' : 'played'}`,
              ]
            : ['pending 1', 'pending 2', 'after'],
      )
      if (wire.cleared.event !== null) t.equal(there.messagesOfType(wire.cleared.event).length, 1)
      const silent = caller.rtp.audio().length
      await caller.until('half a second', () => caller.rtp.audio().length >= silent + 25)
      const rest = packetsOf(line, 800).length - heard
      // Of 250 queued frames. The queue's own test checks the exact frame at which it stops.
      t.ok(rest <= 25, `${rest} packets after clear`)

      // (f) DTMF in both directions.
      caller.rtp.press('5#')
      await there.until('two keys', () => wire.digits(there).length === 2)
      t.equal(wire.digits(there), '5#')
      there.send({ event: 'dtmf', dtmf: { digits: '12' } })
      const events = () =>
        caller.rtp.received
          .filter((packet) => packet.payloadType === DTMF && packet.marker)
          .map(({ payload }) => payload[0])
      await caller.until('two keys', () => events().length === 2)
      t.strictSame(events(), [1, 2])

      // (k) Everything a bot may send.
      there.send('not json')
      there.send({ event: 'surprise', streamSid: 'other' })
      there.send(JSON.stringify({ event: 'media', media: { payload: '*' } }))
      there.send(`{"event":"junk","filler":"${'x'.repeat(1_000_000)}"}`)

      // (g) A transfer is answered; a hang-up waits for the last words.
      there.send({ event: 'transfer', transfer: { id: 't1', destination: '+918045000000' } })
      await there.until('its answer', () => there.messagesOfType('transfer').length === 1)
      t.match(there.messagesOfType('transfer')[0]?.json, {
        transfer: { id: 't1', status: 'rejected', code: 'destination_not_allowed' },
      })
      if (wire.endpoint.type === 'static') {
        t.match(there.messagesOfType('error')[0]?.json, { error: { code: 'bad_json', fatal: false } })
        t.equal(there.messagesOfType('error').length, 1, 'one a second')
      } else {
        t.equal(there.messagesOfType('error').length, 0)
      }
      there.send(wire.play(sound(wire, 1100, 400)))
      there.send({ event: 'hangup' })
      await caller.dialog.ended()
      t.equal(caller.dialog.endedBy, 'remote')
      t.ok(packetsOf(line, 1100).length >= 18, 'the last words were played')
      t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'agent_hangup' })
      await there.until('the end', () => there.closed !== null)
      t.equal(there.closed?.code, 1000)
      t.equal(there.messagesOfType('stop').length, wire.hasStop ? 1 : 0)
      t.equal(service.of(callId, 'bot_stats').length, 1)
    })

    await t.test('(h) the queued audio of a bot that closes is played', async (t) => {
      const line = await ring(t, wire, bot, e164)
      line.there.send(wire.play(sound(wire, 1000, 300)))
      line.there.socket.close(1000)
      await line.caller.dialog.ended()
      t.ok(packetsOf(line, 1000).length >= 13, 'the last words were played')
      t.match(await service.ended(line.callId), { endedReason: 'agent_hangup' })
    })

    await t.test('(h) a bot whose connection breaks', async (t) => {
      const { caller, there, callId } = await ring(t, wire, bot, e164)
      there.socket.terminate()
      await caller.dialog.ended()
      t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'bot_disconnected' })
    })

    await t.test('(i) the caller hangs up', async (t) => {
      const { caller, there, callId } = await ring(t, wire, bot, e164)
      await caller.hangUp()
      await there.until('the end', () => there.closed !== null)
      t.equal(there.closed?.code, 1000)
      t.equal(there.messagesOfType('stop').length, wire.hasStop ? 1 : 0)
      t.match(await service.ended(callId), { endedReason: 'caller_hangup' })
    })
  })
}
