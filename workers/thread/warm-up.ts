import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { WebSocketServer } from 'ws'
import { type AgentSpec, PLAIN_SETTINGS } from '../../media/agent/agent-spec.js'
import { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import { FRAME_MS, type SessionRate } from '../../media/base/frame.js'
import { silentLog } from '../../media/base/log.js'
import { StepClock } from '../../media/base/step-clock.js'
import type { BotSpec } from '../../media/byo/bot-spec.js'
import type { CodecName } from '../../media/codec/codec.js'
import type { Disk } from '../../media/recording/wav-file.js'
import { RtpPorts } from '../../media/rtp/port.js'
import { SRTP_SUITES } from '../../media/rtp/srtp/key-derivation.js'
import type { SrtpKey, SrtpKeys, SrtpSuiteName } from '../../media/rtp/srtp/keying.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import { FrameClock } from '../../media/session/frame-clock.js'
import { EMBEDDED, EMBEDDED_VOICE } from '../../media/vendors/vendor-ids.js'
import type { OpenedSession, Party } from '../channel/protocol.js'
import { HostedSession } from './hosted-session.js'
import type { SessionHost } from './session-host.js'

/*
 * Calls with itself that a media thread holds before it takes others: they run through the codecs, SRTP, the
 * detectors, the recorder, an agent, and bots with binary and JSON messages, on a clock that does not wait for the wall clock. The
 * first callers then do not wait for the compiler.
 */

/** Frames of each call, and the longest time that all of them may take (ms): a busy host shall still start soon. */
const FRAMES = 250
const LIMIT_MS = 400
const ADDRESS = '127.0.0.1'
/** Only audio comes back from the bot. */
const MEDIA = '"event":"media"'

interface WarmCall {
  readonly codec: CodecName
  readonly payloadType: number
  readonly rate: SessionRate
  readonly srtp: SrtpSuiteName | null
  readonly bot: Pick<BotSpec, 'type' | 'format' | 'sampleRate'>
  /** The party that talks with the bot; a party of kind `none` sends silence. */
  readonly other: Party
}

/** Takes recordings and keeps nothing. */
const NOWHERE: Disk = {
  create: async () => ({
    write: async (_bytes, _offset, length) => ({ bytesWritten: length }),
    truncate: async () => {},
    close: async () => {},
  }),
  remove: async () => {},
}

const NOBODY: Party = { kind: 'none', maxCallSeconds: 60 }

const AGENT: AgentSpec = {
  agentId: 'warm-up',
  agentVersionId: 'warm-up',
  name: 'warm-up',
  systemPrompt: '',
  openingLine: 'Hello.',
  hangupLine: null,
  languages: ['en-IN'],
  speechToText: { vendor: EMBEDDED, model: 'parley-sandbox', language: 'en-IN', mode: 'transcribe' },
  textToSpeech: { vendor: EMBEDDED, model: 'espeak-ng', voice: EMBEDDED_VOICE, pace: 1 },
  languageModel: { vendor: EMBEDDED, model: 'parley-rules-1' },
  tools: [],
  nudges: { enabled: false, hangupAfter: false, steps: [] },
  ...PLAIN_SETTINGS,
  maxCallSeconds: 60,
}

const CALLS: readonly WarmCall[] = [
  {
    codec: 'PCMA',
    payloadType: 8,
    rate: 8000,
    srtp: null,
    bot: { type: 'jambonz', format: 'linear16', sampleRate: 8000 },
    other: { kind: 'agent', agent: AGENT },
  },
  {
    codec: 'PCMU',
    payloadType: 0,
    rate: 8000,
    srtp: 'AES_CM_128_HMAC_SHA1_80',
    bot: { type: 'twilio', format: 'mulaw', sampleRate: 8000 },
    other: NOBODY,
  },
  {
    codec: 'G722',
    payloadType: 9,
    rate: 16_000,
    srtp: 'AEAD_AES_128_GCM',
    bot: { type: 'vonage', format: 'linear16', sampleRate: 16_000 },
    other: NOBODY,
  },
  {
    codec: 'OPUS',
    payloadType: 111,
    rate: 16_000,
    srtp: null,
    bot: { type: 'static', format: 'linear16', sampleRate: 24_000 },
    other: NOBODY,
  },
]

/**
 * Holds the calls with itself. Resolves with what each leg sent and received. Rejects when a call cannot be opened or
 * fails; nothing stays open.
 */
export async function warmUp(
  host: SessionHost,
  limitMs = LIMIT_MS,
  disk: Disk = NOWHERE,
): Promise<readonly RtpStats[]> {
  const clock = new StepClock(Date.now())
  const faults: unknown[] = []
  const own: SessionHost = {
    ...host,
    settings: {
      ...host.settings,
      rtpAddress: ADDRESS,
      rtpPorts: { first: 0, last: 0 },
      allowPrivateUrls: true,
    },
    breakers: new CircuitBreakers(clock),
    phrases: new PhraseCache(),
    recordings: { finish: async () => null },
    ports: new RtpPorts(clock),
    frameClock: new FrameClock(clock, (_member, error) => faults.push(error)),
    clock,
    log: silentLog,
    members: new Map(),
  }
  const echo = await openEchoBot()
  const open: HostedSession[] = []
  const close = () => Promise.all(open.map((session) => session.close('shutdown')))
  try {
    const pairs = await Promise.allSettled(
      CALLS.map((call) => openPair(own, call, { url: echo.url, disk, open, faults })),
    )
    for (const pair of pairs) if (pair.status === 'rejected') throw pair.reason
    const until = performance.now() + limitMs
    for (let frame = 0; frame < FRAMES && faults.length === 0 && performance.now() < until; frame++) {
      clock.advance(FRAME_MS)
      // The packets and messages of this frame arrive.
      await new Promise(setImmediate)
    }
    if (faults.length > 0) throw faults[0]
    return (await close()).flatMap(({ stats }) => stats.rtp ?? [])
  } finally {
    await close()
    own.frameClock.close()
    echo.close()
  }
}

/** Connects a bot with its other side by telephone. */
async function openPair(
  host: SessionHost,
  { codec, payloadType, rate, srtp, bot, other }: WarmCall,
  {
    url,
    disk,
    open,
    faults,
  }: {
    readonly url: string
    readonly disk: Disk
    readonly open: HostedSession[]
    readonly faults: unknown[]
  },
): Promise<void> {
  const hold = async (party: Party, side: 'near' | 'far'): Promise<HostedSession> => {
    const session = await HostedSession.open(host, {
      party,
      rate,
      recordTo: `${codec}-${side}.wav`,
      disk,
      emit: () => {},
      onFault: () => faults.push(new Error('a session of the warm-up failed')),
    })
    open.push(session)
    return session
  }
  const spec: BotSpec = {
    ...bot,
    url,
    secret: null,
    customParameters: {},
    callId: '00000000-0000-4000-8000-000000000000',
    accountId: 'warm-up',
    direction: 'inbound',
    from: '+911200000000',
    to: '+911200000001',
    maxCallSeconds: 60,
  }
  const near = await hold(other, 'near')
  const far = await hold({ kind: 'bot', bot: spec }, 'far')
  const [ours, theirs] = srtp === null ? [null, null] : keyPair(srtp)
  const towards = ({ address, port }: OpenedSession, keys: SrtpKeys | null) => ({
    address,
    port,
    codec,
    payloadType,
    dtmfPayloadType: null,
    send: true,
    receive: true,
    ...(keys === null ? {} : { srtp: keys }),
  })
  near.setRemote(towards(far.opened, ours))
  far.setRemote(towards(near.opened, theirs))
  near.start(null)
  far.start(null)
}

function keyPair(suite: SrtpSuiteName): [SrtpKeys, SrtpKeys] {
  const { keyBytes, saltBytes } = SRTP_SUITES[suite]
  const key = (): SrtpKey => ({ keyAndSalt: randomBytes(keyBytes + saltBytes), mki: null })
  const [send, receive] = [key(), key()]
  return [
    { suite, send, receive },
    { suite, send: receive, receive: send },
  ]
}

/** Opens a bot on the loopback interface that returns what it receives. */
async function openEchoBot(): Promise<{ readonly url: string; close(): void }> {
  const server = new WebSocketServer({ host: ADDRESS, port: 0, perMessageDeflate: false, maxPayload: 65_536 })
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', reject)
  })
  server.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary || data.includes(MEDIA)) socket.send(data, { binary: isBinary })
    })
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `ws://${ADDRESS}:${port}/`,
    close: () => {
      for (const socket of server.clients) socket.terminate()
      server.close()
    },
  }
}
