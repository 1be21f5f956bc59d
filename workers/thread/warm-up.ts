import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { WebSocketServer } from 'ws'
import { type AgentSpec, PLAIN_SETTINGS } from '../../media/agent/agent-spec.js'
import { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import { asksForNoCalls } from '../../media/agent/language/opt-out-request.js'
import { spokenForm } from '../../media/agent/language/spoken-form.js'
import { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import type { SpeechToText } from '../../media/agent/vendor-ports.js'
import { systemClock } from '../../media/base/clock.js'
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
import { openAiLanguageModel } from '../../media/vendors/openai/llm.js'
import { VendorConnections } from '../../media/vendors/shared/vendor-connections.js'
import { EMBEDDED, EMBEDDED_VOICE } from '../../media/vendors/vendor-ids.js'
import type { OpenedSession, Party } from '../channel/protocol.js'
import { HostedSession } from './hosted-session.js'
import type { SessionHost } from './session-host.js'

/*
 * Calls with itself that a media thread holds before it takes others: they run through the codecs, SRTP, the
 * detectors, the recorder, an agent that asks a model over HTTP, and bots with binary and JSON messages, on a clock that does not
 * wait for the wall clock. The first callers then do not wait for the compiler.
 */

/** Frames of each call, and the longest time that all of them may take (ms): a busy host shall still start soon. */
const FRAMES = 250
const LIMIT_MS = 400
const ADDRESS = '127.0.0.1'
/** Only audio comes back from the bot. */
const MEDIA = '"event":"media"'
/** Words of the agent's caller, in Latin and other letters, and the number of frames between them. */
const SAID = ['Yes, please. It is 1,500 rupees.', 'जी हाँ। 1,500 रुपये।']
const SAID_EVERY = 20
/** A chat completion as server-sent events. */
const COMPLETION = `data: ${JSON.stringify({
  choices: [{ index: 0, delta: { content: 'All right.' }, finish_reason: 'stop' }],
})}\n\ndata: [DONE]\n\n`

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

/** The vendor, model and agent of these calls. */
const OWN = 'warm-up'

const NOBODY: Party = { kind: 'none', maxCallSeconds: 60 }

const AGENT: AgentSpec = {
  agentId: OWN,
  agentVersionId: OWN,
  name: OWN,
  systemPrompt: '',
  openingLine: 'Hello.',
  hangupLine: null,
  languages: ['en-IN'],
  speechToText: { vendor: OWN, model: OWN, language: 'en-IN', mode: 'transcribe' },
  textToSpeech: { vendor: EMBEDDED, model: 'espeak-ng', voice: EMBEDDED_VOICE, pace: 1 },
  languageModel: { vendor: OWN, model: OWN },
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
 * Holds the calls with itself. Resolves with what each leg sent and received and the number of replies that the model gave.
 * Rejects when a call cannot be opened or fails; nothing stays open.
 */
export async function warmUp(
  host: SessionHost,
  limitMs = LIMIT_MS,
  disk: Disk = NOWHERE,
): Promise<{ readonly legs: readonly RtpStats[]; readonly replies: number }> {
  const clock = new StepClock(Date.now())
  const faults: unknown[] = []
  const far = await openFarSide()
  const connections = new VendorConnections()
  const own: SessionHost = {
    ...host,
    vendors: {
      ...host.vendors,
      speechToText: () => recogniser,
      languageModel: () =>
        // Its requests are real ones and take real time.
        openAiLanguageModel(
          { baseUrl: far.modelUrl, apiKey: null },
          { clock: systemClock, log: silentLog, connections },
          { id: OWN },
        ),
    },
    settings: {
      ...host.settings,
      rtpAddress: ADDRESS,
      rtpPorts: { first: 0, last: 0 },
      allowPrivateUrls: true,
    },
    // Its statistics are those of calls. It was measured when it was loaded.
    turnDetector: null,
    breakers: new CircuitBreakers(clock),
    phrases: new PhraseCache(),
    recordings: { finish: async () => null },
    ports: new RtpPorts(clock),
    frameClock: new FrameClock(clock, (_member, error) => faults.push(error)),
    clock,
    log: silentLog,
    members: new Map(),
  }
  const open: HostedSession[] = []
  const close = () => Promise.all(open.map((session) => session.close('shutdown')))
  try {
    const pairs = await Promise.allSettled(
      CALLS.map((call) => openPair(own, call, { url: far.botUrl, disk, open, faults })),
    )
    for (const pair of pairs) if (pair.status === 'rejected') throw pair.reason
    const until = performance.now() + limitMs
    compileExpressions()
    for (let frame = 0; frame < FRAMES && faults.length === 0 && performance.now() < until; frame++) {
      clock.advance(FRAME_MS)
      // The packets and messages of this frame arrive.
      await new Promise(setImmediate)
    }
    if (faults.length > 0) throw faults[0]
    const legs = (await close()).flatMap(({ stats }) => stats.rtp ?? [])
    return { legs, replies: far.replies }
  } finally {
    await close()
    own.frameClock.close()
    await connections.close()
    far.close()
  }
}

/**
 * Runs the longest expressions. V8 compiles an expression once for Latin text and once for other text when it is first used, and
 * again at its second use, which takes up to 15 ms.
 */
function compileExpressions(): void {
  for (const text of [...SAID, ...SAID]) {
    asksForNoCalls(text)
    spokenForm(text, 'en-IN')
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
    accountId: OWN,
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

/** A recogniser that reports the words of `SAID`, whatever the audio is. */
const recogniser: SpeechToText = {
  id: OWN,
  open(_options, events) {
    let frames = 0
    return {
      capabilities: {
        partials: true,
        endOfUtterance: false,
        wordTimes: false,
        understandsSpeech: true,
        finalDeadlineMs: 100,
      },
      write() {
        const said = ++frames % SAID_EVERY === 0 ? SAID[frames / SAID_EVERY - 1] : undefined
        if (said !== undefined) events.final(said, null)
      },
      utteranceStart() {},
      utteranceEnd: () => events.final('', null),
      close() {},
    }
  },
}

/** Opens, on the loopback interface, a bot that returns what it receives and a model that agrees with everything. */
async function openFarSide(): Promise<{
  readonly botUrl: string
  readonly modelUrl: string
  readonly replies: number
  close(): void
}> {
  let replies = 0
  const server = createServer((request, response) => {
    replies++
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(COMPLETION)
  })
  const bots = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 65_536 })
  await new Promise<void>((resolve, reject) => {
    server.listen(0, ADDRESS, resolve)
    server.once('error', reject)
  })
  bots.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary || data.includes(MEDIA)) socket.send(data, { binary: isBinary })
    })
  })
  const { port } = server.address() as AddressInfo
  return {
    botUrl: `ws://${ADDRESS}:${port}/`,
    modelUrl: `http://${ADDRESS}:${port}/`,
    get replies() {
      return replies
    },
    close: () => {
      for (const socket of bots.clients) socket.terminate()
      bots.close()
      server.close()
      server.closeAllConnections()
    },
  }
}
