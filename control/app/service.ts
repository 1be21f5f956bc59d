import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { openCallManager } from '../../signalling/call/call-manager.js'
import { type EmbeddedServer, openEmbeddedServer } from '../../signalling/embedded/server.js'
import { isLoopback } from '../../signalling/embedded/transport/local-address.js'
import { openSandboxCarrier } from '../../signalling/sandbox/carrier.js'
import { SpeakerScripts } from '../../signalling/sandbox/speaker-scripts.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import { openSipServer } from '../../signalling/sip/sip-server.js'
import { SipTraceStore } from '../../signalling/trace/sip-trace.js'
import type { WireMessage } from '../../signalling/trace/wire-tap.js'
import { TrunkAuthenticator } from '../../signalling/trunk/trunk-authenticator.js'
import type { WorkerLoad } from '../../workers/channel/protocol.js'
import { openMediaPool } from '../../workers/pool/media-pool.js'
import { type Bootstrap, bootstrap } from '../access/accounts/bootstrap.js'
import type { Deps } from '../api/deps.js'
import { openPasswordHasher } from '../base/passwords.js'
import { openRootKey } from '../base/root-key.js'
import { openCallEventWriter } from '../calls/lifecycle/event-writer.js'
import { openLeases } from '../calls/lifecycle/leases.js'
import { recordingsFolder, settleAbandonedCalls } from '../calls/lifecycle/settle.js'
import { openAdmission } from '../calls/placement/admission.js'
import { openPermitBook } from '../compliance/permit.js'
import type { SipAddress } from '../config/parsers.js'
import type { Settings } from '../config/settings.js'
import { readTls } from '../config/tls-files.js'
import { openDatabase } from '../db/database.js'
import { openDatabaseClock } from '../db/database-clock.js'
import { migrate } from '../db/migrate.js'
import { dashboardUrl } from '../http/origins.js'
import { storedLimits } from '../limits/rate-limit-store.js'
import { openRateLimiter } from '../limits/rate-limiter.js'
import { openMailSender } from '../mail/sender.js'
import { fileTransport, smtpTransport } from '../mail/transport.js'
import { openEgress } from '../net/egress.js'
import { assignSandboxNumber } from '../numbers/sandbox-number.js'
import { readQueueDepths } from '../observe/queue-depths.js'
import { openSipTraceFiles, traceFolder } from '../observe/sip-trace-files.js'
import { type MetricSources, openTelemetry } from '../observe/telemetry.js'
import { openTracing } from '../observe/tracing.js'
import { API_VERSION } from '../system/api.js'
import { openAgentTools } from '../tools/runner.js'
import { serviceTools } from '../tools/service-tools.js'
import { loadTrunks } from '../trunks/load-trunks.js'
import { testFileTrunks } from '../trunks/probe.js'
import { openRegistrations } from '../trunks/registrations.js'
import { openTrunkCallers } from '../trunks/trunk-callers.js'
import { openTrustedNetworks } from '../trunks/trusted-networks.js'
import { openBackground } from './background.js'
import { openHttpApi } from './http-api.js'
import { operations } from './operations.js'

export interface ParleyOptions {
  readonly clock: Clock
  readonly log: Log
  /** Hears every call event as it happens, before it is stored. Must not throw. */
  readonly onCallEvent?: (event: CallEvent) => void
  /** Silence of the far side's RTP that ends a call; 15 s unless a test wants it sooner. */
  readonly mediaTimeoutMs?: number
}

export interface SipEndpoint {
  readonly transport: string
  readonly address: string
  readonly port: number
}

/** The whole service, running. */
export interface Parley {
  /** Base address of the API, no slash at the end. */
  readonly httpUrl: string
  readonly sip: readonly SipEndpoint[]
  /** What an empty database was given, to be shown once; null on any later start. */
  readonly firstStart: Bootstrap | null
  /** Calls that are not over. */
  readonly live: number
  load(): Promise<readonly WorkerLoad[]>
  /** No new calls; resolves when the live ones ended, after the configured time at the latest. */
  drain(): Promise<void>
  /** Ends what is left and releases everything. Idempotent. */
  close(): Promise<void>
}

const MEDIA_TIMEOUT_MS = 15_000
const FLUSH_MS = 10_000
const HTTP_GRACE_MS = 3_000
const LOOPBACK = '127.0.0.1'

/**
 * Starts everything in the order of dependence, and on failure releases what was started. Throws
 * EngineError (`config_invalid`, `port_unavailable`, `storage_failed`, ...).
 */
export async function startParley(settings: Settings, options: ParleyOptions): Promise<Parley> {
  const scope = new Scope()
  try {
    return await start(settings, options, scope)
  } catch (error) {
    await scope.close()
    throw error
  }
}

async function start(settings: Settings, options: ParleyOptions, scope: Scope): Promise<Parley> {
  const { clock, log } = options
  const folder = recordingsFolder(settings.dataFolder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const rootKey = openRootKey(settings.rootKey, settings.dataFolder)
  const nodeId = await readNodeId(settings.dataFolder)

  const tracing =
    settings.otlpEndpoint === null ? null : await openTracing(settings.otlpEndpoint, API_VERSION)
  if (tracing !== null) scope.own(() => tracing.close())
  let sources: MetricSources | null = null
  const telemetry = openTelemetry(tracing, () => sources)
  const database = openDatabase(settings.databaseUrl, log, telemetry.query)
  scope.add(database)
  const { db } = database
  await migrate(database)
  const passwords = openPasswordHasher()
  const firstStart = await bootstrap({ db, rootKey, clock, passwords }, async (trx, organizationId) => {
    await assignSandboxNumber(trx, organizationId, clock.wall())
  })
  const left = await settleAbandonedCalls(db, { nodeId, folder, now: clock.wall() })
  if (left > 0) log.warn({ calls: left }, 'settled calls that an earlier run left behind')

  if (settings.trunkFile !== null) {
    const { path, file } = settings.trunkFile
    await loadTrunks({ db, rootKey, clock, log, filePath: path }, file)
  }

  const bridge = openCallEventWriter({ db, clock, log, folder })
  scope.own(async () => {
    if (!(await bridge.flush(FLUSH_MS))) log.error({ waiting: bridge.waiting }, 'call events not stored')
    await bridge.close()
  })
  const scripts = new SpeakerScripts(clock)
  const pool = await openMediaPool({
    workers: settings.mediaWorkers,
    rtpAddress: settings.rtpAddress,
    rtpPorts: settings.rtpPorts,
    mediaTimeoutMs: options.mediaTimeoutMs ?? MEDIA_TIMEOUT_MS,
    compressRecordings: settings.compressRecordings,
    vadModel: settings.vadModel,
    turnModel: settings.turnModel,
    speculate: settings.speculate,
    allowPrivateUrls: settings.allowPrivateUrls,
    providers: settings.providers,
    sandboxScript: (sipCallId) => scripts.get(sipCallId),
    clock,
    log,
  })
  scope.add(pool)
  const traces = settings.sipTraceHours === 0 ? null : new SipTraceStore(clock)
  const traceFiles =
    traces === null
      ? null
      : scope.add(
          await openSipTraceFiles({
            traces,
            folder: traceFolder(settings.dataFolder),
            hours: settings.sipTraceHours,
            clock,
            log,
          }),
        )
  const { sip, endpoints, embedded } = await openSip(settings, options, scope, (message) => {
    telemetry.sip(message)
    traces?.add(message)
  })
  if (embedded !== null) {
    scope.add(
      openTrustedNetworks({
        db,
        clock,
        log,
        configured: settings.sipExempt,
        apply: (networks) => embedded.setTrustedNetworks(networks),
      }),
    )
  }
  const carrier = await openSandboxCarrier({
    pool,
    clock,
    log,
    serviceAddress: sandboxTarget(endpoints),
    scripts,
  })
  scope.add(carrier)
  const egress = openEgress({ allowPrivate: settings.allowPrivateUrls })
  scope.add(egress)
  const permits = openPermitBook(clock)
  const switchboard = await openCallManager({
    sip,
    pool,
    trunkAuthenticator: new TrunkAuthenticator({ trunks: openTrunkCallers(db, rootKey, clock), clock, log }),
    admissionControl: openAdmission({
      db,
      clock,
      log,
      nodeId,
      folder,
      providers: settings.providers,
      rootKey,
    }),
    gate: permits,
    tools: openAgentTools({ db, rootKey, egress, clock, log, services: serviceTools }),
    events: {
      publish: (event) => {
        bridge.publish(event)
        telemetry.call(event)
        if (event.type === 'ended') traceFiles?.callEnded(event.callId)
        options.onCallEvent?.(event)
      },
    },
    clock,
    log,
    scripts,
    onCall: (callId, sipCallId, trunkId) => traces?.begin(callId, sipCallId, trunkId),
  })
  scope.add(switchboard)
  scope.add(openRegistrations({ db, rootKey, sip, clock, log }))
  scope.add(testFileTrunks({ db, rootKey, sip, clock, log }))
  sources = {
    load: () => pool.load(),
    callEvents: () => ({ waiting: bridge.waiting, lost: bridge.lost }),
    queues: () => readQueueDepths(db, clock.wall()),
    sip: () => embedded?.stats() ?? null,
  }
  scope.add(openLeases({ db, clock, log, nodeId, calls: switchboard }))

  let publicUrl = settings.publicUrl
  let jobsIdleMs: (() => number) | null = null
  const { smtpUrl, mailFrom } = settings
  const mail = openMailSender({
    db,
    rootKey,
    clock,
    log,
    transport: smtpUrl === null ? fileTransport(join(settings.dataFolder, 'mail')) : smtpTransport(smtpUrl),
    from: mailFrom,
    dashboardUrl: () => dashboardUrl(deps),
  })
  scope.add(mail)
  const deps: Deps = {
    db,
    clock,
    log,
    rootKey,
    passwords,
    mail,
    calls: switchboard,
    ringer: carrier,
    settings,
    nodeId,
    permits,
    telemetry,
    requests: openRateLimiter(clock, storedLimits(db)),
    egress,
    sandboxGateway: carrier.gateway,
    backlog: () => ({ callEvents: bridge.waiting, jobsIdleMs: jobsIdleMs?.() ?? null }),
    publicUrl: () => publicUrl ?? '',
  }
  const http = await named(
    'PARLEY_HTTP_PORT',
    openHttpApi({
      operations,
      deps,
      address: settings.httpAddress,
      port: settings.httpPort,
    }),
  )
  scope.own(() => http.close(HTTP_GRACE_MS))
  const host = http.address.includes(':') ? `[${http.address}]` : http.address
  const httpUrl = `http://${host}:${http.port}`
  publicUrl ??= httpUrl
  // What an earlier run queued, now that links can be made.
  mail.wake()
  const databaseClock = scope.add(await openDatabaseClock(database, clock, log))
  const jobs = scope.add(await openBackground({ ...deps, clock: databaseClock }))
  jobsIdleMs = () => jobs.sinceLastPollMs

  return {
    httpUrl,
    sip: endpoints,
    firstStart,
    get live() {
      return switchboard.live
    },
    load: () => pool.load(),
    drain: () => switchboard.drain(settings.drainSeconds * 1000),
    close: () => scope.close(),
  }
}

/** The SIP application's connection: to the embedded server, or to an operator's drachtio-server. */
async function openSip(
  settings: Settings,
  { clock, log }: ParleyOptions,
  scope: Scope,
  onWire: (message: WireMessage) => void,
): Promise<{
  readonly sip: SipServer
  readonly endpoints: readonly SipEndpoint[]
  readonly embedded: EmbeddedServer | null
}> {
  let server = settings.drachtio
  let embedded: EmbeddedServer | null = null
  if (server === null) {
    const secret = randomBytes(24).toString('base64url')
    embedded = await named(
      'PARLEY_SIP_LISTEN',
      openEmbeddedServer({
        listen: settings.sipListen.map((address) => ({ ...address, ...advertised(settings, address) })),
        ...(settings.sipTls === null ? {} : { tls: readTls(settings.sipTls) }),
        control: { address: LOOPBACK, port: 0, secret },
        clock,
        log,
      }),
    )
    scope.add(embedded)
    server = { host: LOOPBACK, port: embedded.controlPort, secret }
  }
  const sip = scope.add(await openSipServer({ ...server, clock, log, onWire }))
  // A server behind a NAT names the addresses of the outside, which lead nowhere from here.
  return { sip, endpoints: embedded?.endpoints ?? sip.endpoints.map(parseEndpoint), embedded }
}

/** The address from outside a NAT, for listeners of its family; loopback has no outside. */
function advertised({ sipAdvertise }: Settings, { address }: SipAddress): { readonly advertise?: string } {
  const fits = sipAdvertise !== null && isIP(sipAdvertise) === isIP(address) && !isLoopback(address)
  return fits ? { advertise: sipAdvertise } : {}
}

/** An address that cannot be listened on is a wrong setting: says which one, and what would be right. */
async function named<T>(variable: string, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'port_unavailable')) throw error
    const fix = 'choose an address of this machine and a free port'
    throw new EngineError(error.code, `${variable}: ${error.message}; ${fix}`, { cause: error })
  }
}

/** `udp/127.0.0.1:5060`, as drachtio-compatible servers name their transports. */
function parseEndpoint(text: string): SipEndpoint {
  const match = /^(\w+)\/\[?(.*?)\]?:(\d+)$/.exec(text)
  if (match === null) throw new EngineError('sip_failed', `the SIP server named an endpoint ${text}`)
  return { transport: match[1] ?? '', address: match[2] ?? '', port: Number(match[3]) }
}

/** Where the simulated carrier reaches the service: loopback, UDP rather than TCP. */
function sandboxTarget(endpoints: readonly SipEndpoint[]) {
  for (const transport of ['udp', 'tcp'] as const) {
    const endpoint = endpoints.find((candidate) => candidate.transport === transport)
    if (endpoint !== undefined) {
      const wildcard = endpoint.address === '0.0.0.0' || endpoint.address === '::'
      return { host: wildcard ? LOOPBACK : endpoint.address, port: endpoint.port, transport }
    }
  }
  throw new EngineError('config_invalid', 'PARLEY_SIP_LISTEN: name at least one udp or tcp address')
}

/** This installation's name among those that share a database; kept in the data folder. */
async function readNodeId(dataFolder: string): Promise<string> {
  const path = join(dataFolder, 'node.id')
  const made = `${hostname()}-${randomBytes(6).toString('hex')}`
  try {
    await writeFile(path, made, { flag: 'wx', mode: 0o600 })
    return made
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return (await readFile(path, 'utf8')).trim()
  }
}
