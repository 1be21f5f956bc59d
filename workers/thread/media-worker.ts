/*
 * The entry file of a media thread. It owns the thread's frame clock, sessions, vendors, VAD, clips and job
 * threads, and answers the requests of protocol.ts. An uncaught error ends the thread: the pool then counts
 * its sessions as lost and starts another one.
 */
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { PhraseCache } from '../../media/agent/tts/phrase-cache.js'
import { systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { openSafeResolver } from '../../media/base/public-address.js'
import { opusLibrary } from '../../media/codec/opus-library.js'
import { createDtlsIdentity } from '../../media/rtp/dtls/identity.js'
import { RtpPorts } from '../../media/rtp/port.js'
import { FrameClock, type FrameClockMember } from '../../media/session/frame-clock.js'
import { NoiseSuppression } from '../../media/vad/noise-suppressor.js'
import { loadVad } from '../../media/vad/vad.js'
import { openVendors } from '../../media/vendors/open-vendors.js'
import { VendorConnections } from '../../media/vendors/shared/vendor-connections.js'
import { EMBEDDED_VOICE } from '../../media/vendors/vendor-ids.js'
import { Outbox } from '../channel/outbox.js'
import type { FromWorker, SessionId, WorkerLoad, WorkerRequest, WorkerSettings } from '../channel/protocol.js'
import { serveRequests } from '../channel/request-channel.js'
import { RecordingJobs } from '../jobs/recording-jobs.js'
import { SynthesisJobs } from '../jobs/synthesis-jobs.js'
import { remoteModelStarter } from '../models/model-host.js'
import { openSpeechModel } from '../models/speech-model.js'
import { openTurnDetector } from '../models/turn-detector.js'
import { HostedSession } from './hosted-session.js'
import type { SessionHost } from './session-host.js'
import { openSharedCircuits } from './shared-circuits.js'
import { openSoundLibrary } from './sound-library.js'
import { openSpeechClips } from './speech-clips.js'
import { threadLog } from './thread-log.js'
import { raiseThreadPriority } from './thread-priority.js'
import { ThreadWork } from './thread-work.js'
import { warmUp } from './warm-up.js'

if (parentPort === null) throw new Error('media-worker.js runs in a worker thread only')
// A service that cannot load the library does not start, and no call waits for it.
opusLibrary()
const main: { postMessage(message: FromWorker): void } = parentPort
const port = new Outbox({ port: main, onFull: (session) => lose(session) })
const {
  settings,
  models,
  circuits: channel,
}: { readonly settings: WorkerSettings; readonly models: MessagePort; readonly circuits: string } = workerData
const start = remoteModelStarter(models)
const clock = systemClock
const log = threadLog(port, settings.index)

const members = new Map<FrameClockMember, () => void>()
const frameClock = new FrameClock(clock, (member, error) => {
  const stack = error instanceof Error ? error.stack : undefined
  log.error({ error: errorText(error), stack }, 'session.frame_failed')
  members.get(member)?.()
})
const synthesis = new SynthesisJobs({ clock, log })
const recordings = new RecordingJobs({ compress: settings.compressRecordings, log })
const speechModel =
  settings.vadModel === null ? null : await openSpeechModel({ path: settings.vadModel, clock, log, start })
const turnDetector =
  settings.turnModel === null ? null : await openTurnDetector({ path: settings.turnModel, clock, log, start })
const circuits = openSharedCircuits(clock, channel)
const connections = new VendorConnections()
const host: SessionHost = {
  settings,
  vendors: openVendors({
    providers: settings.providers,
    synthesis,
    clock,
    log,
    connections,
    manners: circuits.breakers.manners,
  }),
  breakers: circuits.breakers,
  phrases: new PhraseCache(),
  vad: await loadVad(speechModel),
  turnDetector,
  noiseSuppression: new NoiseSuppression(),
  clips: openSpeechClips(),
  recordings,
  sounds: openSoundLibrary({ holdMusic: null }),
  names: openSafeResolver(settings.allowPrivateUrls),
  ports: new RtpPorts(clock),
  identity: createDtlsIdentity(clock.wall()),
  frameClock,
  clock,
  log,
  members,
}
// The first call must not wait for eSpeak to load. Without eSpeak, calls with other voices still work.
await synthesis
  .synthesize({ text: 'Hello', voice: EMBEDDED_VOICE, language: 'en-IN', pace: 1, rate: 8000 })
  .catch((error: unknown) => log.error({ error: errorText(error) }, 'worker.synthesizer_failed'))
// The first calls must not wait for the compiler either.
if (settings.warmUp) {
  const coldMs = clock.now()
  await warmUp(host).then(
    ({ legs, replies }) =>
      log.info({ legs: legs.length, replies, ms: Math.round(clock.now() - coldMs) }, 'worker.warmed_up'),
    (error: unknown) => log.error({ error: errorText(error) }, 'worker.warm_up_failed'),
  )
}
// Raised only now: threads started before keep the usual priority.
if (!raiseThreadPriority()) log.info({}, 'worker.priority_not_raised')
const sessions = new Map<SessionId, Promise<HostedSession>>()
const threadWork = new ThreadWork()
let shuttingDown = false

async function find(session: SessionId): Promise<HostedSession> {
  const hosted = await sessions.get(session)
  if (hosted === undefined) {
    throw new EngineError('closed', 'the session does not exist in this worker', { context: { session } })
  }
  return hosted
}

async function open(request: Extract<WorkerRequest, { type: 'open' }>): Promise<unknown> {
  const { session, options } = request
  if (shuttingDown) throw new EngineError('closed', 'the media worker is shutting down')
  if (sessions.has(session)) {
    throw new EngineError('internal', 'the session id is already in use', { context: { session } })
  }
  const hosting = HostedSession.open(host, {
    ...options,
    emit: (event) => port.postMessage({ type: 'event', session, event }),
    onFault: () => lose(session),
  })
  sessions.set(session, hosting)
  try {
    return (await hosting).opened
  } catch (error) {
    sessions.delete(session)
    throw error
  }
}

function lose(session: SessionId): void {
  port.postMessage({ type: 'lost', session })
  // The session stays known until the pool closes it and asks for its recordings.
  find(session)
    .then((hosted) => hosted.close('error'))
    .catch((error: unknown) => {
      log.error({ session, error: errorText(error) }, 'session.close_failed')
    })
}

async function close(
  session: SessionId,
  why: Extract<WorkerRequest, { type: 'close' }>['why'],
): Promise<unknown> {
  const hosted = await find(session)
  try {
    return await hosted.close(why)
  } finally {
    sessions.delete(session)
  }
}

function load(): WorkerLoad {
  const { members: _members, ...clockLoad } = frameClock.load()
  const heap = getHeapStatistics()
  const heapBytes = heap.used_heap_size + heap.external_memory
  return {
    sessions: sessions.size,
    busy: threadWork.share(),
    ...clockLoad,
    heapBytes,
    openCircuits: host.breakers.openKeys(),
    speechModel: speechModel?.stats() ?? null,
    turnDetector: turnDetector?.stats() ?? null,
  }
}

async function shutDown(): Promise<null> {
  shuttingDown = true
  const closed = await Promise.allSettled([...sessions.keys()].map((session) => close(session, 'shutdown')))
  for (const outcome of closed) {
    if (outcome.status === 'rejected') {
      log.warn({ error: errorText(outcome.reason) }, 'session.close_failed')
    }
  }
  frameClock.close()
  circuits.close()
  await Promise.all([speechModel?.close(), turnDetector?.close()])
  await Promise.all([synthesis.close(), recordings.close(), connections.close()])
  return null
}

async function handle(request: WorkerRequest): Promise<unknown> {
  switch (request.type) {
    case 'open':
      return await open(request)
    case 'addLeg':
    case 'remote':
    case 'dropLeg':
    case 'route':
    case 'attend':
    case 'hold':
    case 'listen':
    case 'collect':
    case 'say':
    case 'note':
    case 'finish':
    case 'record':
    case 'pauseRecording':
    case 'shareAudio':
      return await (await find(request.session)).request(request)
    case 'start':
      return (await find(request.session)).start(request.sipCallId)
    case 'sandboxScript':
      return (await find(request.session)).setSandboxScript(request.script)
    case 'digit':
      return (await find(request.session)).digit(request.digit, request.durationMs, request.leg)
    case 'toolResult':
      return (await find(request.session)).toolResult(request.request, request.result)
    case 'press':
      return (await find(request.session)).press(request.digits)
    case 'transfer_update':
      return (await find(request.session)).transferUpdate(request.update)
    case 'close':
      return await close(request.session, request.why)
    case 'load':
      return load()
    case 'shutdown':
      return await shutDown()
  }
}

parentPort.on('message', serveRequests(port, log, handle))
