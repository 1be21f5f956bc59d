import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import { openEmbedder } from '../../media/vendors/openai/embeddings.js'
import { VendorConnections } from '../../media/vendors/shared/vendor-connections.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { CallManager } from '../../signalling/call/call-manager.js'
import { openSandboxCarrier } from '../../signalling/sandbox/carrier.js'
import { SpeakerScripts } from '../../signalling/sandbox/speaker-scripts.js'
import { SipTraceStore } from '../../signalling/trace/sip-trace.js'
import { openRegistrar } from '../../signalling/trunk/registrar.js'
import { TrunkAuthenticator } from '../../signalling/trunk/trunk-authenticator.js'
import type { WorkerLoad } from '../../workers/channel/protocol.js'
import { DocumentJobs } from '../../workers/jobs/document-jobs.js'
import { PdfJobs } from '../../workers/jobs/pdf-jobs.js'
import { SearchJobs } from '../../workers/jobs/search-jobs.js'
import { openMediaPool } from '../../workers/pool/media-pool.js'
import { type Bootstrap, bootstrap } from '../access/accounts/bootstrap.js'
import type { Deps, TransferAsked } from '../api/deps.js'
import { openPasswordHasher, type PasswordHasher } from '../base/passwords.js'
import { openRootKey } from '../base/root-key.js'
import { BrowserConnections } from '../calls/browser/connections.js'
import { openCallRequests } from '../calls/call-requests.js'
import { RememberedRequests } from '../calls/done-requests.js'
import { settleAbandonedCalls } from '../calls/lifecycle/abandoned.js'
import { openEventSpool } from '../calls/lifecycle/event-spool.js'
import { openCallEventWriter } from '../calls/lifecycle/event-writer.js'
import { finishStoring } from '../calls/lifecycle/finish-storing.js'
import { openLeases } from '../calls/lifecycle/leases.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { liveCallRequests } from '../calls/live-call-api.js'
import { optOutTool } from '../calls/opt-out.js'
import { openAdmission } from '../calls/placement/admission.js'
import { openAwaitedAdmission } from '../calls/placement/awaited-admission.js'
import { scheduleCallbackTool } from '../campaigns/callbacks/schedule-tool.js'
import { openCarriers } from '../carriers/directory.js'
import { exotelCarrier } from '../carriers/exotel.js'
import { plivoCarrier } from '../carriers/plivo.js'
import { sandboxCarrier } from '../carriers/sandbox.js'
import { vobizCarrier } from '../carriers/vobiz.js'
import { httpRegister } from '../compliance/dnd/http-register.js'
import { openPermitBook } from '../compliance/permit.js'
import { policyInForce } from '../compliance/policy.js'
import { keepPolicy } from '../compliance/policy-store.js'
import type { Settings } from '../config/settings.js'
import { openDatabase } from '../db/database.js'
import { openDatabaseClock } from '../db/database-clock.js'
import { migrateAt } from '../db/migrate.js'
import { isTransient } from '../db/transient-error.js'
import { pageUrl } from '../http/origins.js'
import { bindHttp } from '../http/server.js'
import type { JobRunner } from '../jobs/runner.js'
import { openQuestionVectors } from '../knowledge/question-vectors.js'
import { openKnowledgeSearch } from '../knowledge/search.js'
import { storedBudgets } from '../limits/rate-limit-store.js'
import { openRateLimiter } from '../limits/rate-limiter.js'
import { openLiveFeed } from '../live/feed.js'
import { openMailSender } from '../mail/sender.js'
import { fileTransport, smtpTransport } from '../mail/transport.js'
import { openEgress } from '../net/egress.js'
import { assignSandboxNumber } from '../numbers/sandbox-number.js'
import { openObjectStore } from '../objects/open-object-store.js'
import { readQueueDepths } from '../observe/queue-depths.js'
import { openSipTraceFiles, traceFolder } from '../observe/sip-trace-files.js'
import { openTelemetry } from '../observe/telemetry.js'
import { openTracing } from '../observe/tracing.js'
import { openPaymentGateway } from '../payments/open-gateway.js'
import { checkRootKey } from '../secrets/root-key-check.js'
import { API_VERSION } from '../system/api.js'
import { openAgentTools } from '../tools/runner.js'
import { serviceTools } from '../tools/service-tools.js'
import { TRANSFER_REQUEST } from '../transfers/api.js'
import { TransferDesk } from '../transfers/desk.js'
import { openHandoffFeed } from '../transfers/handoff-events.js'
import { takeoverRequests } from '../transfers/takeover-api.js'
import { openContacts } from '../trunks/contacts.js'
import { loadTrunks } from '../trunks/load-trunks.js'
import { renameBindingHosts } from '../trunks/number-binding.js'
import { testFileTrunks } from '../trunks/probe.js'
import { openRegistrations } from '../trunks/registrations.js'
import { openTrunkCallers } from '../trunks/trunk-callers.js'
import { openTrustedNetworks } from '../trunks/trusted-networks.js'
import { analysts, openBackground } from './background.js'
import { lockDataFolder } from './data-folder-lock.js'
import { watchDisk } from './disk-watch.js'
import { serveHttpApi } from './http-api.js'
import { readNodeId } from './node-id.js'
import { operations } from './operations.js'
import { warnOfRetirements } from './retiring-models.js'
import {
  connectSip,
  type SipEndpoint,
  sandboxTarget,
  sipGatewayOf,
  withSettingName,
} from './sip-connection.js'

export interface ParleyOptions {
  readonly clock: Clock
  /** True takes wall time from `clock` instead of the database server, which does not know virtual time. False unless a test sets it. */
  readonly virtualTime?: boolean
  readonly log: Log
  /** Receives every call event as it happens, before it is stored. Must not throw. */
  readonly onCallEvent?: (event: CallEvent) => void
  /** Time (ms) without RTP and RTCP after which the far side is asked whether it still has the call; from the settings unless given. */
  readonly mediaTimeoutMs?: number
  /** Opens the media sessions; in threads of their own unless a test runs them in its thread. */
  readonly openMediaPool?: typeof openMediaPool
  /** Hashes passwords at the cost of the product unless a test sets it. */
  readonly passwords?: PasswordHasher
}

/** The running service. */
export interface Parley {
  /** Base URL of the API, without a trailing slash. */
  readonly httpUrl: string
  readonly sip: readonly SipEndpoint[]
  /** The accounts and keys of an empty database, to be shown once. Null on any later start. */
  readonly firstStart: Bootstrap | null
  /** Number of calls that have not ended. */
  readonly live: number
  load(): Promise<readonly WorkerLoad[]>
  /** Refuses new calls and ends registrations. Resolves when the live calls have ended, at the latest after the configured time. */
  drain(): Promise<void>
  /** Ends the remaining calls and releases every resource. Idempotent. */
  close(): Promise<void>
}

const FLUSH_MS = 10_000
const HTTP_GRACE_MS = 3_000
/**
 * Maximum time in which a drained process moves its last recordings to the object store (ms). A second signal ends
 * it.
 */
const STORING_LIMIT_MS = 120_000

/**
 * Starts the parts in the order of their dependences. On failure releases the parts already started and throws
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
  const { log } = options
  const folder = recordingsFolder(settings.dataFolder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  scope.add(lockDataFolder(settings.dataFolder))
  const rootKey = openRootKey(settings.rootKey, settings.dataFolder)
  const nodeId = await readNodeId(settings.dataFolder)

  const tracing =
    settings.otlpEndpoint === null ? null : await openTracing(settings.otlpEndpoint, API_VERSION)
  if (tracing !== null) scope.own(() => tracing.close())
  const telemetry = openTelemetry(tracing)
  const database = scope.add(
    openDatabase(settings.databaseUrl, log, telemetry.query, {
      connections: settings.databaseConnections,
      statementMs: settings.databaseStatementSeconds * 1_000,
    }),
  )
  const { db } = database
  await migrateAt(settings.databaseUrl, database, log)
  const objects = await openObjectStore(settings.objectStore, log)
  scope.own(() => objects.close())
  // Leases, call times and jobs of several processes are comparable only on one clock.
  const databaseClock =
    options.virtualTime === true ? null : scope.add(await openDatabaseClock(database, options.clock, log))
  const clock = databaseClock ?? options.clock
  await checkRootKey(db, rootKey)
  const policy = policyInForce(settings.policyFile)
  await keepPolicy(db, policy, clock.wall())
  if (settings.policyFile !== null) log.info({ version: policy.version }, 'policy.loaded')
  const { passwords = openPasswordHasher() } = options
  const firstStart = await bootstrap({ db, rootKey, clock, passwords }, async (trx, organizationId) => {
    await assignSandboxNumber(trx, organizationId, clock.wall())
  })

  if (settings.trunkFile !== null) {
    const { path, file } = settings.trunkFile
    await loadTrunks({ db, rootKey, clock, log, filePath: path }, file)
  }

  const spool = await openEventSpool(settings.dataFolder, log)
  const callEvents = openCallEventWriter({ db, clock, log, policy, spool })
  scope.own(async () => {
    if (!(await callEvents.flush(FLUSH_MS)))
      log.error({ waiting: callEvents.waiting }, 'call_events.flush_failed')
    await callEvents.close()
  })
  const scripts = new SpeakerScripts(clock)
  const pool = await (options.openMediaPool ?? openMediaPool)({
    workers: settings.mediaWorkers,
    rtpAddress: settings.rtpAddress,
    iceAddress: settings.iceAddress,
    rtpPorts: settings.rtpPorts,
    mediaTimeoutMs:
      options.mediaTimeoutMs ?? (settings.mediaTimeoutSeconds * 1000 || Number.POSITIVE_INFINITY),
    warmUp: settings.warmUp,
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
  // Bound early: links in mails and webhooks need the port, which may be any free one, and so does SIP over it.
  const listener = scope.add(
    await withSettingName(
      'PARLEY_HTTP_PORT',
      bindHttp({ address: settings.httpAddress, port: settings.httpPort }),
    ),
  )
  const permits = openPermitBook(clock)
  const dndService = settings.dndService === null ? null : httpRegister(settings.dndService, clock, log)
  const { sip, endpoints, embedded } = await connectSip(
    settings,
    { clock, log, gate: permits, entrance: listener },
    scope,
    (message) => {
      telemetry.sip(message)
      traces?.add(message)
    },
  )
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
  const browserSip =
    embedded === null ? null : new BrowserConnections((upgrade) => embedded.acceptWebSocket(upgrade))
  const carrier = await openSandboxCarrier({
    pool,
    clock,
    log,
    serviceAddress: sandboxTarget(endpoints),
    scripts,
  })
  scope.add(carrier)
  // Only now: a start that fails because a port is taken must not end calls. No call can begin yet.
  // What an earlier run left on the disk is stored first: it knows when its calls ended.
  if (!(await callEvents.flush(FLUSH_MS)))
    log.error({ waiting: callEvents.waiting }, 'call_events.flush_failed')
  const abandoned = await settleAbandonedCalls({
    ...{ db, nodeId, folder, policy, now: clock.wall() },
    owned: new Set(callEvents.calls()),
  })
  warnOfRetirements(settings.providers, clock, log)
  if (abandoned > 0) log.warn({ calls: abandoned }, 'calls.abandoned_settled')
  const egress = openEgress({ allowPrivate: settings.allowPrivateUrls })
  scope.add(egress)
  const desk = new TransferDesk({
    ...{ db, clock, log, rootKey, egress, permits, dndService, policy, settings },
    sandboxGateway: carrier.gateway,
    settled: (callId) => callEvents.settled(callId),
    model: analysts({ settings, clock, log }),
    calls: () => callManager,
  })
  const admission = openAwaitedAdmission(
    openAdmission({
      ...{ db, clock, log, nodeId, folder, rootKey, permits, dndService, policy, egress, browserSip },
      providers: settings.providers,
      sandboxGateway: carrier.gateway,
      takeovers: desk,
    }),
    clock,
  )
  const searches = scope.add(new SearchJobs({ log }))
  const vendorConnections = new VendorConnections()
  scope.add(vendorConnections)
  const { embeddings } = settings.knowledge
  const embedder =
    embeddings === null ? null : openEmbedder(embeddings, { clock, connections: vendorConnections })
  const vectors = embedder === null ? null : scope.add(openQuestionVectors(embedder, { clock, log }))
  const knowledge = openKnowledgeSearch({ db, objects, jobs: searches, log, vectors })
  const trunkAuthenticator = new TrunkAuthenticator({
    trunks: openTrunkCallers(db, rootKey, clock),
    clock,
    log,
  })
  const callManager: CallManager = new CallManager({
    sip,
    pool,
    trunkAuthenticator,
    admissionControl: admission,
    gate: permits,
    tools: openAgentTools({
      db,
      rootKey,
      egress,
      clock,
      log,
      services: serviceTools({
        transfer_call: desk.transferCall,
        opt_out: optOutTool({ db, clock, policy }),
        schedule_callback: scheduleCallbackTool({ db, clock }),
      }),
      knowledge,
    }),
    transfers: desk,
    events: {
      publish: (event) => {
        callEvents.publish(event)
        telemetry.call(event)
        desk.onCallEvent(event)
        if (event.type === 'ended') traceFiles?.callEnded(event.callId)
        options.onCallEvent?.(event)
      },
    },
    clock,
    log,
    scripts,
    onCall: (callId, sipCallId, trunkId) => traces?.begin(callId, sipCallId, trunkId),
  })
  scope.add(callManager)
  scope.add(
    openRegistrar({
      ...{ sip, clock, log, authenticator: trunkAuthenticator },
      contacts: openContacts(db),
      connections: embedded !== null,
    }),
  )
  const registrations = scope.add(openRegistrations({ db, rootKey, sip, egress, clock, nodeId, log }))
  const sandboxGateway = carrier.gateway
  scope.add(testFileTrunks({ db, rootKey, sip, egress, sandboxGateway, clock, log }))
  sip.acceptCallsWhile(() => database.available && !callManager.draining)
  telemetry.readFrom({
    load: () => pool.load(),
    callEvents: () => ({
      waiting: callEvents.waiting,
      onDisk: callEvents.onDisk,
      lost: callEvents.lost,
    }),
    database: () => database.available,
    queues: () =>
      readQueueDepths(db, clock.wall()).catch((error: unknown) => {
        if (isTransient(error)) return null
        throw error
      }),
    sip: () => embedded?.stats() ?? null,
  })
  const leases = scope.add(
    openLeases({ db, clock, log, nodeId, calls: callManager, unstored: () => callEvents.calls(), database }),
  )
  const doneRequests = new RememberedRequests()
  scope.add(
    openCallRequests({
      ...{ db, clock, log, nodeId },
      live: () => callManager.live,
      done: doneRequests,
      handlers: {
        [TRANSFER_REQUEST]: (callId, body) => desk.ask(callId, body as TransferAsked),
        ...liveCallRequests({ calls: callManager, clock, log }),
        ...takeoverRequests({ transfers: desk, calls: callManager }),
      },
    }),
  )

  const host = listener.address.includes(':') ? `[${listener.address}]` : listener.address
  const httpUrl = `http://${host}:${listener.port}`
  const publicUrl = (): string => settings.publicUrl ?? httpUrl
  const { smtpUrl, mailFrom } = settings
  const mail = scope.add(
    openMailSender({
      db,
      rootKey,
      clock,
      log,
      transport: smtpUrl === null ? fileTransport(join(settings.dataFolder, 'mail')) : smtpTransport(smtpUrl),
      from: mailFrom,
      pageUrl: (page, token) => pageUrl({ settings, publicUrl }, page, token),
    }),
  )
  const carriers = openCarriers(
    [
      sandboxCarrier(db, clock),
      ...(settings.carriers.vobiz === null ? [] : [vobizCarrier(settings.carriers.vobiz)]),
      ...(settings.carriers.plivo === null ? [] : [plivoCarrier(settings.carriers.plivo)]),
      ...(settings.carriers.exotel === null ? [] : [exotelCarrier(settings.carriers.exotel)]),
    ],
    clock,
    log,
  )
  const shared = {
    payments: openPaymentGateway(settings.payments, db, clock),
    db,
    carriers,
    dndService,
    reads: database.reads,
    objects,
    clock,
    log,
    rootKey,
    egress,
    publicUrl,
    settings,
    policy,
    nodeId,
    telemetry,
  }
  const minFreeBytes = settings.minFreeMb * 2 ** 20
  const disk = scope.add(await watchDisk({ folder: settings.dataFolder, minFreeBytes, clock, log }))
  const documents = scope.add(new DocumentJobs({ clock }))
  let jobs: JobRunner | null = null
  const sipGateway = sipGatewayOf(settings, endpoints)
  await renameBindingHosts(db, sipGateway.host)
  const deps: Deps = {
    ...shared,
    knowledge,
    live: scope.add(openLiveFeed({ db, clock, log })),
    doneRequests,
    handoffs: scope.add(openHandoffFeed({ db, clock, log })),
    pdf: scope.add(new PdfJobs({ log })),
    passwords,
    mail,
    calls: callManager,
    transfers: desk,
    ringer: carrier,
    admission,
    permits,
    requests: openRateLimiter(clock, storedBudgets(db), log),
    sip,
    sipGateway,
    browserSip,
    sandboxGateway,
    openCircuits: async () => (await pool.load()).flatMap(({ openCircuits }) => openCircuits),
    backlog: () => ({
      callEvents: callEvents.waiting,
      jobsIdleMs: jobs?.sinceLastPollMs ?? null,
      isDiskLow: disk.isLow,
    }),
  }
  jobs = scope.add(
    await openBackground({
      ...{ ...deps, documents, embedder },
      owned: () => new Set([...callManager.liveCalls(), ...callEvents.calls()]),
      contactMs: () => Math.min(leases.contactMs, databaseClock?.steadyMs ?? Number.POSITIVE_INFINITY),
    }),
  )
  const http = serveHttpApi(listener, { operations, deps })
  scope.own(() => http.close(HTTP_GRACE_MS))
  const closing = new AbortController()
  scope.own(() => closing.abort())
  // An earlier run may have queued mail.
  mail.wake()

  return {
    httpUrl,
    sip: endpoints,
    firstStart,
    get live() {
      return callManager.live
    },
    load: () => pool.load(),
    async drain() {
      // From now on the calls of registered trunks belong to another process.
      const unregistered = registrations.close()
      await callManager.drain(settings.drainSeconds * 1000)
      await unregistered
      const flush = (ms: number) => callEvents.flush(ms)
      await finishStoring({ db, nodeId, clock, log, flush, signal: closing.signal }, STORING_LIMIT_MS)
    },
    close: () => scope.close(),
  }
}
