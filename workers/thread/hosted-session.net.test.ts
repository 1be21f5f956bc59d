import t, { type Test } from 'tap'
import { keyTone } from '../../fixtures/audio/dtmf.js'
import { decodeG711 } from '../../fixtures/audio/g711.js'
import { loudnessVad } from '../../fixtures/audio/loudness-vad.js'
import { joined, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { DEFAULT_SPEC } from '../../fixtures/rigs/conversation-rig.js'
import { openRtpPeer, type RtpPeer } from '../../fixtures/rtp/rtp-peer.js'
import { VIRTUAL_AGENT } from '../../fixtures/virtual-call/virtual-call.js'
import { VirtualSession } from '../../fixtures/virtual-call/virtual-session.js'
import { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import type { SpeechToTextEvents, Vendors } from '../../media/agent/vendor-ports.js'
import { systemClock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import { type Log, silentLog } from '../../media/base/log.js'
import { openSafeResolver } from '../../media/base/public-address.js'
import type { BotSpec } from '../../media/byo/bot-spec.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import { finishRecording } from '../../media/recording/finish.js'
import { createDtlsIdentity } from '../../media/rtp/dtls/identity.js'
import { RtpPorts } from '../../media/rtp/port.js'
import { FrameClock, type FrameClockMember } from '../../media/session/frame-clock.js'
import { NoiseSuppression } from '../../media/vad/noise-suppressor.js'
import { CALLER_LEG, type SessionEvent } from '../channel/protocol.js'
import { DUPLICATE_WAIT_MS } from './dtmf-merger.js'
import { HostedSession } from './hosted-session.js'
import type { SessionHost } from './session-host.js'
import { openSoundLibrary } from './sound-library.js'

/** The recogniser of each session: what it does with a frame, and how the test speaks through it. */
interface Ear {
  events: SpeechToTextEvents
  write: () => void
}

function vendors(ears: Ear[]): Vendors {
  return {
    speechToText: () => ({
      id: 'main',
      open: (_options, events) => {
        const ear: Ear = { events, write: () => {} }
        ears.push(ear)
        return {
          capabilities: {
            partials: true,
            endOfUtterance: false,
            wordTimes: false,
            understandsSpeech: true,
            finalDeadlineMs: 800,
          },
          write: () => ear.write(),
          utteranceStart() {},
          utteranceEnd() {},
          close() {},
        }
      },
    }),
    textToSpeech: (id) => ({ id, firstAudioDeadlineMs: 600, speak: () => ({ cancel() {} }) }),
    speechToSpeech: () => {
      throw new Error('none here')
    },
    languageModel: () => ({ id: 'main', firstTokenDeadlineMs: 1200, generate: () => ({ cancel() {} }) }),
  }
}

interface Call {
  readonly hosted: HostedSession
  readonly peer: RtpPeer
  readonly ear: Ear
  faults: number
  emit: (event: SessionEvent) => void
}

async function thread(t: Test) {
  const clock = systemClock
  const ears: Ear[] = []
  const errors: string[] = []
  const names = openSafeResolver(false)
  /** For whom host names were to be resolved. */
  const owners: string[] = []
  const log: Log = {
    ...silentLog,
    error: (fields) => {
      errors.push(JSON.stringify(fields))
    },
  }
  const members = new Map<FrameClockMember, () => void>()
  const beat = new FrameClock(clock, (member, error) => {
    errors.push(String(error))
    members.get(member)?.()
  })
  const host: SessionHost = {
    settings: {
      index: 0,
      workers: 1,
      rtpAddress: '127.0.0.1',
      rtpPorts: { first: 0, last: 0 },
      allowPrivateUrls: false,
      mediaTimeoutMs: 30_000,
      warmUp: false,
      compressRecordings: false,
      vadModel: null,
      turnModel: null,
      speculate: true,
      providers: { openai: null },
    },
    vendors: vendors(ears),
    breakers: new CircuitBreakers(clock),
    phrases: new PhraseCache(),
    vad: loudnessVad,
    turnDetector: null,
    noiseSuppression: new NoiseSuppression(),
    names: {
      ...names,
      lookupOf: (owner) => {
        owners.push(owner)
        return names.lookupOf(owner)
      },
    },
    clips: { load: async () => new Int16Array(0) },
    sounds: openSoundLibrary({ holdMusic: null }),
    recordings: { finish: finishRecording },
    ports: new RtpPorts(clock),
    identity: createDtlsIdentity(clock.wall()),
    frameClock: beat,
    clock,
    log,
    members,
  }
  const calls: Call[] = []
  t.teardown(async () => {
    for (const { hosted, peer } of calls) {
      await hosted.close('hangup')
      await peer.close()
    }
    beat.close()
  })
  const open = async (dtmfPayloadType: number | null = 101, agent = DEFAULT_SPEC): Promise<Call> => {
    const peer = await openRtpPeer({ codec: 'PCMA' })
    const order = { faults: 0, emit: (_event: SessionEvent): void => {} }
    const hosted = await HostedSession.open(host, {
      party: { kind: 'agent', agent },
      recordTo: null,
      rate: 8000,
      emit: (event) => order.emit(event),
      onFault: () => {
        order.faults++
      },
    })
    hosted.setRemote({
      address: peer.address,
      port: peer.port,
      codec: 'PCMA',
      payloadType: 8,
      dtmfPayloadType,
      send: true,
      receive: true,
    })
    hosted.start(null)
    peer.start(hosted.opened)
    const ear = ears.at(-1)
    if (ear === undefined) throw new Error('no ear was opened')
    const call: Call = Object.assign(order, { hosted, peer, ear })
    calls.push(call)
    return call
  }
  return { open, errors, host, owners }
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = systemClock.now() + 30_000
  while (!condition()) {
    if (systemClock.now() > deadline) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Resolves when the call has sent and received audio from now on. */
async function lives(call: Call): Promise<void> {
  const sent = call.peer.received.length
  let heard = 0
  call.ear.write = () => {
    heard++
  }
  await until('packets of the other call', () => call.peer.received.length > sent + 5 && heard > 5)
}

t.test('a session that throws at a packet is lost alone, and once', async (t) => {
  const { open, errors } = await thread(t)
  const [bad, good] = [await open(), await open()]
  await lives(bad)
  bad.ear.write = () => {
    throw new Error('thrown at a packet')
  }
  await until('the fault', () => bad.faults > 0)
  await lives(good)
  t.equal(bad.faults, 1)
  t.equal(good.faults, 0)
  t.ok(errors[0]?.includes('thrown at a packet'))
  await bad.hosted.close('error')
  await lives(good)
})

t.test('a session that throws in a vendor callback is lost alone, and once', async (t) => {
  const { open, errors } = await thread(t)
  const [bad, good] = [await open(), await open()]
  bad.emit = () => {
    throw new Error('thrown in a callback')
  }
  bad.ear.events.failed(new EngineError('vendor_failed', 'scripted'))
  t.equal(bad.faults, 1, 'and the vendor never notices')
  bad.ear.events.failed(new EngineError('vendor_failed', 'scripted'))
  t.equal(bad.faults, 1)
  t.ok(errors[0]?.includes('thrown in a callback'))
  // On a late host a deadline of its own would throw in a timer of the test.
  bad.emit = () => {}
  await lives(good)
})

t.test('digits as tones reach the agent once each when nothing else was negotiated', async (t) => {
  const { open } = await thread(t)
  const call = await open(null)
  const keys = digitsOf(call)
  await lives(call)
  for (const key of '4#2') await call.peer.say(joined(keyTone(key, { ms: 80 }), new Int16Array(1200))).done
  await until('three keys', () => keys.length >= 3)
  await lives(call)
  t.strictSame(keys, ['4', '#', '2'])
  call.hosted.digit('2', 100)
  t.strictSame(keys, ['4', '#', '2'], 'an INFO of the last one is its twin')
})

t.test('digits that leak as tones beside their RTP events count once', async (t) => {
  const { open } = await thread(t)
  const call = await open()
  const keys = digitsOf(call)
  await lives(call)
  for (const key of '12') {
    const leak = call.peer.say(joined(keyTone(key, { ms: 60 }), new Int16Array(800)))
    await leak.done
    call.peer.press(key)
    await until('its event', () => keys.at(-1) === key)
  }
  await call.peer.say(joined(keyTone('3'), new Int16Array(1600))).done
  await new Promise((resolve) => setTimeout(resolve, DUPLICATE_WAIT_MS))
  await lives(call)
  t.strictSame(keys, ['1', '2'], 'once events came, nothing else is listened to')
})

t.test(
  'the beep of an answering machine and a fax are reported to an agent that asks who answered',
  async (t) => {
    const { open } = await thread(t)
    const other = await open()
    const call = await open(101, { ...DEFAULT_SPEC, voicemail: { enabled: true, windowSeconds: 8 } })
    const heard: DetectorEvent[] = []
    const unasked: DetectorEvent[] = []
    call.emit = (event) => {
      if (event.type === 'detected') heard.push(event.event)
    }
    other.emit = (event) => {
      if (event.type === 'detected') unasked.push(event.event)
    }
    await lives(call)
    await lives(other)
    const pause = new Int16Array(4000)
    await other.peer.say(joined(tone(1000, 300), pause)).done
    const has = (type: DetectorEvent['type']) => heard.some((event) => event.type === type)
    await call.peer.say(joined(tone(1000, 300), pause)).done
    await until('the beep', () => has('beep'))
    // A fax repeats its tone. One that this host cuts in two by standing still does not count.
    for (let times = 0; times < 5 && !has('fax'); times++) {
      await call.peer.say(joined(tone(1100, 500), pause)).done
      // A fax ends the conversation, but not the packets.
      const sent = call.peer.received.length
      await until('the answer', () => has('fax') || call.peer.received.length > sent + 25)
    }
    t.ok(has('fax'))
    t.ok(heard[0]?.type === 'beep' && Math.abs(heard[0].hertz - 1000) <= 5)
    t.notOk(unasked.some(({ type }) => type === 'beep'))
  },
)

function digitsOf(call: Call): string[] {
  const keys: string[] = []
  call.emit = (event) => {
    if (event.type === 'dtmf') keys.push(event.digit)
  }
  return keys
}

t.test('digits are sent as RTP events when the far side supports them, else as tones', async (t) => {
  const { open } = await thread(t)
  const { hosted, peer } = await open()
  const remote = {
    address: peer.address,
    port: peer.port,
    codec: 'PCMA',
    payloadType: 8,
    send: true,
    receive: true,
  } as const
  await until('the first packet', () => peer.received.length > 0)
  hosted.press(['1'])
  await until('the event', () => peer.received.some(({ payloadType }) => payloadType === 101))
  hosted.setRemote({ ...remote, dtmfPayloadType: null })
  await until('the end of the event', () => peer.received.at(-1)?.payloadType === 8)
  // Packet after packet, because frames skipped on a late host are gaps on the wire, not in the tones.
  const spoken = () => joined(...peer.audio().map(({ payload }) => decodeG711('PCMA', payload)))
  const before = spoken().length
  hosted.press(['5', '9'])
  await until('both keys', () => spoken().length > before + 5600)
  const heard = spoken().subarray(before)
  const beginnings = (low: number, high: number) => {
    for (let at = 0; at + 800 < heard.length; at += 80) {
      const piece = heard.subarray(at, at + 800)
      if (toneLevel(piece, low) > 0.15 && toneLevel(piece, high) > 0.15) return at
    }
    return -1
  }
  const five = beginnings(770, 1336)
  const nine = beginnings(852, 1477)
  t.ok(five >= 0 && nine >= 0)
  t.ok(Math.abs(nine - five - 260 * 8) <= 160, `${(nine - five) / 8} ms from key to key`)
  t.notOk(peer.received.slice(-20).some(({ payloadType }) => payloadType === 101))
})

t.test('the host name of a bot counts for its organization', async (t) => {
  const { host, owners } = await thread(t)
  const bot: BotSpec = {
    type: 'static',
    format: 'linear16',
    sampleRate: 8000,
    url: 'wss://bot.example/one',
    secret: null,
    customParameters: {},
    callId: 'c0ffee00-0000-4000-8000-000000000001',
    accountId: 'c0ffee00-0000-4000-8000-000000000002',
    direction: 'outbound',
    from: '+919000000001',
    to: '+918045000000',
    maxCallSeconds: 60,
  }
  const hosted = await HostedSession.open(host, {
    party: { kind: 'bot', bot },
    recordTo: null,
    rate: 8000,
    emit: () => {},
    onFault: () => {},
  })
  await hosted.close('hangup')
  t.strictSame(owners, [bot.accountId])
})

t.test('the agent that takes over from a bot is listened to and accounted like any other', async (t) => {
  const bot: BotSpec = {
    type: 'static',
    format: 'linear16',
    sampleRate: 8000,
    // The port has no listener.
    url: 'ws://127.0.0.1:9/',
    secret: null,
    customParameters: {},
    callId: 'c0ffee00-0000-4000-8000-000000000003',
    accountId: 'c0ffee00-0000-4000-8000-000000000002',
    direction: 'inbound',
    from: '+919000000001',
    to: '+918045000000',
    maxCallSeconds: 60,
  }
  const { rig, caller } = await VirtualSession.open({
    heard: ['Never mind.'],
    party: { kind: 'bot', bot, fallback: VIRTUAL_AGENT },
  })
  t.teardown(() => rig.close())
  await rig.run(6000)
  t.equal(rig.events.filter(({ type }) => type === 'agent_took_over').length, 1)
  await rig.ask({ type: 'route', mode: 'hold', persons: [] })
  await rig.ask({ type: 'listen', leg: CALLER_LEG, languages: ['en-IN'] })
  caller.say(tone(510, 1000))
  await rig.run(3000)
  t.match(
    rig.events.filter(({ type }) => type === 'heard'),
    [{ text: 'Never mind.' }],
  )
  await rig.close()
  const usage = rig.events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))
  t.equal(usage.length, 2, 'of the conversation, and of what was listened to beside it')
  const audioMs = usage.flatMap(({ recognition }) => recognition).reduce((sum, one) => sum + one.audioMs, 0)
  t.ok(audioMs >= 2000, `${audioMs} ms`)
})
