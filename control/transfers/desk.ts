import { languageData } from '../../media/agent/language/language-data.js'
import { asksForPerson } from '../../media/agent/language/person-request.js'
import type { ServiceRefusal } from '../../media/agent/tools/service-tools.js'
import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import { errorText } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import type { TalkLine } from '../../signalling/call/consult-talk.js'
import type { CallControl, TakeoverPlan, TransferHandler, TransferPlan } from '../../signalling/call/ports.js'
import { MAX_ATTEMPTS, type TransferStatus } from '../../signalling/call/transfer-machine.js'
import type {
  Deps,
  JoinAnswer,
  JoinAsked,
  TakeoverAnswer,
  TakeoverAsked,
  TransferAnswer,
  TransferAsked,
  TransferRequests,
} from '../api/deps.js'
import { isRefusal } from '../api/problem.js'
import { RATES } from '../billing/rating.js'
import { recordingPath, recordingsFolder } from '../calls/lifecycle/settle.js'
import { insertMonitor, TAKEOVER_PLACE } from '../calls/monitors/store.js'
import { takeLegChannel } from '../calls/placement/call-slots.js'
import { outboundRoute } from '../calls/placement/outbound-route.js'
import { listSegments } from '../calls/store.js'
import { type AttemptFacts, partName } from '../calls/transfers/store.js'
import { clearDial } from '../compliance/clearance.js'
import { dialledToE164 } from '../compliance/numbering.js'
import type { CallRow, NumberRow } from '../db/tables/calling.js'
import type { TransferAttemptRow } from '../db/tables/transfers.js'
import { type Destination, statusOf, takesCalls } from '../destinations/store.js'
import type { PresetHandlers } from '../tools/service-tools.js'
import { recordTrunkUse } from '../trunks/store.js'
import { coversPerson } from '../wallet/call-billing.js'
import { modelAnswer, modelBrief, plainBrief } from './brief.js'
import { takeoverReport } from './takeover-report.js'
import { allDestinations, startsByWords, type TransferParty, transferParty } from './transfer-party.js'
import { transferReport } from './transfer-report.js'

type DeskDeps = Pick<
  Deps,
  | 'db'
  | 'clock'
  | 'log'
  | 'rootKey'
  | 'egress'
  | 'permits'
  | 'dndService'
  | 'settings'
  | 'sandboxGateway'
  | 'policy'
> & {
  /** Returns the language model that can write a brief for agents with this model; null when there is none. */
  readonly model: (name: string) => LanguageModel | null
  readonly calls: () => Pick<CallControl, 'transfer' | 'takeOver'>
  /** Resolves when what was said on a call so far is stored. */
  readonly settled: (callId: string) => Promise<void>
}

/** Steps of an attempt as bots and PBXs hear of them. */
const UPDATES: Readonly<Record<string, TransferUpdate['status']>> = {
  ringing: 'ringing',
  answered: 'answered',
  bridged: 'completed',
  missed: 'failed',
  declined: 'failed',
  failed: 'failed',
  canceled: 'failed',
}
/** Ends of an attempt after which the fallback is called, if there is one. */
const MISSED: ReadonlySet<TransferStatus> = new Set(['missed', 'declined', 'failed'])
/** Steps after which a request hears nothing else. */
const FINAL: ReadonlySet<TransferUpdate['status']> = new Set(['completed', 'failed'])

/**
 * Decides on every request to hand a call to a person: of the model, of the caller by words or by a key, of the API, of a
 * bot, and of a PBX by REFER. A refusal is an answer, never an error.
 */
export class TransferDesk implements TransferHandler, TransferRequests {
  readonly #deps: DeskDeps
  /** Receivers of the steps of the transfer under way, by call. */
  readonly #reports = new Map<string, Reporter>()

  constructor(deps: DeskDeps) {
    this.#deps = deps
  }

  /** Carries out the preset `transfer_call` of agents. */
  readonly transferCall: NonNullable<PresetHandlers['transfer_call']> = async (callId, request) => {
    const { destinationId, reason, note } = request
    const answer = await this.ask(callId, {
      trigger: 'model',
      destination: destinationId,
      handoff: null,
      note: note === '' ? null : note,
      reason: reason === '' ? null : reason,
    })
    if (answer.accepted) return { status: 'done' }
    return { status: 'refused', refusal: answer.refusal ?? 'destination_not_allowed' }
  }

  request(callId: string, request: TransferRequest, report: (update: TransferUpdate) => void): void {
    const { id, destination, destinationId, handoff, blind, note, reason } = request
    const wanted = { destination: destinationId ?? destination, handoff, blind, note, reason }
    this.#ask(callId, { trigger: 'byo', ...wanted }, () => true, { id, report })
      .then((answer) => {
        if (answer.accepted) return
        const code = answer.refusal ?? 'destination_not_allowed'
        report({ id, status: 'rejected', code, message: `the transfer is refused: ${code}` })
      })
      .catch((error: unknown) => {
        this.#deps.log.error({ callId, error: errorText(error) }, 'transfer.request_failed')
        report({ id, status: 'rejected', code: 'internal', message: 'the transfer cannot be carried out' })
      })
  }

  /** Takes every event of every call. */
  onCallEvent(event: CallEvent): void {
    const { callId } = event
    switch (event.type) {
      case 'dtmf':
        this.#asked(callId, 'dtmf', ({ spec }) => spec.transfer.dtmfKey === event.digit)
        return
      case 'turn':
        if (event.turn.speaker !== 'caller' || !asksForPerson(event.turn.text)) return
        this.#asked(callId, 'model', ({ spec }) => startsByWords(spec.transfer))
        return
      case 'transfer': {
        const reporter = this.#reports.get(callId)
        if (reporter === undefined) return
        const { id, report, awaits } = reporter
        const { status, outcome, mode } = event
        // The fallback is called next.
        if (MISSED.has(status) && event.destination === awaits && event.attempt < MAX_ATTEMPTS) return
        if (status === 'accepted') report({ id, status: 'accepted', mode })
        const update = UPDATES[status]
        if (update === undefined) return
        if (FINAL.has(update)) this.#reports.delete(callId)
        report({ id, status: update, mode, ...(outcome === null ? {} : { code: outcome }) })
        return
      }
      case 'ended':
        this.#reports.delete(callId)
        return
      default:
    }
  }

  /** Starts a transfer that the caller asked for, by words or by a key, when the agent allows it. */
  #asked(callId: string, trigger: 'model' | 'dtmf', allowed: (party: AgentParty) => boolean): void {
    const reason =
      trigger === 'dtmf' ? 'The caller pressed the key for a person.' : 'The caller asked for a person.'
    const request = { trigger, destination: null, handoff: null, note: null, reason } as const
    this.#ask(callId, request, (party) => party.kind === 'agent' && allowed(party)).catch((error: unknown) =>
      this.#deps.log.error({ callId, error: errorText(error) }, 'transfer.request_failed'),
    )
  }

  /** Decides on a request, and starts the transfer. */
  ask(callId: string, request: TransferAsked): Promise<TransferAnswer> {
    return this.#ask(callId, request, () => true)
  }

  async #ask(
    callId: string,
    request: TransferAsked,
    allowed: (party: TransferParty) => boolean,
    reporter: Omit<Reporter, 'awaits'> | null = null,
  ): Promise<TransferAnswer> {
    const { db, clock, log } = this.#deps
    const refused = (refusal: ServiceRefusal): TransferAnswer => {
      log.info({ callId, trigger: request.trigger, refusal }, 'transfer.refused')
      return { accepted: false, refusal }
    }
    const found = await this.#liveCall(callId)
    if (typeof found === 'string') return refused(found)
    const { call, number, party } = found
    if (!allowed(party)) return refused('not_supported')
    const destinations = await allDestinations(db, call)
    const target = targetOf(party, destinations, request.destination)
    if (target === null)
      return request.destination === null
        ? { accepted: false, refusal: null }
        : refused('destination_not_allowed')
    const problem = this.#problemOf(target.first)
    if (problem !== null) return refused(problem)
    // No person is called to a call that ends within the minute.
    const covered = await coversPerson(db, call, personRate(number), clock.wall())
    if (!covered) return refused('insufficient_funds')
    const { plan, attempt } = this.#plan({ call, number, party, target, request })
    // The first step is reported before `transfer` returns. A refused request leaves the steps to the one under way.
    const before = this.#reports.get(callId) ?? null
    const awaits = plan.fallback === null ? null : plan.destination
    this.#reportTo(callId, reporter && { ...reporter, awaits })
    const refusal = this.#deps.calls().transfer(callId, plan)
    if (refusal !== null) {
      this.#reportTo(callId, before)
      return refused(refusal)
    }
    log.info(
      { callId, transferId: attempt.id, trigger: request.trigger, mode: plan.mode },
      'transfer.accepted',
    )
    return { accepted: true, attempt }
  }

  #reportTo(callId: string, reporter: Reporter | null): void {
    if (reporter === null) this.#reports.delete(callId)
    else this.#reports.set(callId, reporter)
  }

  /** Returns a call that may be handed over, or why it may not. */
  async #liveCall(
    callId: string,
  ): Promise<Pick<PlanInput, 'call' | 'number' | 'party'> | 'call_ending' | 'not_supported'> {
    const { db } = this.#deps
    const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
    if (call === undefined || call.status !== 'in_progress') return 'call_ending'
    const number = await db
      .selectFrom('numbers')
      .selectAll()
      .where('id', '=', call.numberId)
      .executeTakeFirst()
    const party = number === undefined ? null : await transferParty(this.#deps, call)
    return party === null || number === undefined ? 'not_supported' : { call, number, party }
  }

  /** Decides on a request of a user to take a call over by telephone, and starts that. */
  async takeOver(callId: string, request: TakeoverAsked): Promise<TakeoverAnswer> {
    const { db, log } = this.#deps
    const refused = (refusal: Extract<TakeoverAnswer, { accepted: false }>['refusal']): TakeoverAnswer => {
      log.info({ callId, refusal }, 'takeover.refused')
      return { accepted: false, refusal }
    }
    const found = await this.#liveCall(callId)
    if (typeof found === 'string') return refused(found)
    const { call, number } = found
    const chosen = named(await allDestinations(db, call), request.destination)
    if (chosen === undefined) return refused('destination_not_allowed')
    const problem = this.#problemOf(chosen)
    if (problem !== null) return refused(problem)
    if (!(await this.#beginTakeover(call, request))) return refused('taken_over')
    const { row } = chosen
    const dial = { language: row.language, clear: () => this.#clear(call, number, chosen) }
    const refusal = this.#deps.calls().takeOver(callId, this.#takeoverPlan({ ...found, dial, request }))
    if (refusal !== null) {
      await db.deleteFrom('callMonitors').where('id', '=', request.id).execute()
      return refused(refusal)
    }
    log.info({ callId, monitorId: request.id }, 'takeover.accepted')
    return { accepted: true }
  }

  /** Decides on a user who called us to take a call over. Returns how. */
  async join(callId: string, request: JoinAsked): Promise<JoinAnswer> {
    const found = await this.#liveCall(callId)
    if (typeof found === 'string') return { accepted: false, refusal: found }
    if (!(await this.#beginTakeover(found.call, request))) {
      const { db } = this.#deps
      const used = await db
        .selectFrom('callMonitors')
        .select('id')
        .where('id', '=', request.id)
        .executeTakeFirst()
      return { accepted: false, refusal: used === undefined ? 'taken_over' : 'token_used' }
    }
    return { accepted: true, plan: this.#takeoverPlan({ ...found, dial: null, request }) }
  }

  /** Stores a takeover that was asked for. Returns false when its id was used or another member has the call. */
  async #beginTakeover(call: CallRow, { id, userId }: JoinAsked): Promise<boolean> {
    const { db, clock } = this.#deps
    const { id: callId, organizationId, environment } = call
    const monitor = { id, organizationId, environment, callId, userId, mode: 'takeover' } as const
    const stored = await db
      .transaction()
      .execute((trx) =>
        insertMonitor(trx, { ...monitor, place: TAKEOVER_PLACE, startedAt: null }, clock.wall()),
      )
    return stored !== null
  }

  #takeoverPlan({ party, dial, request }: TakeoverInput): TakeoverPlan {
    const { transfer, languages } = party.spec
    const [first = 'en-IN'] = languages
    const { intro, keys, gone, ended } = languageData(
      dial !== null && languages.includes(dial.language) ? dial.language : first,
    ).transfer
    const keep = transfer.recordHumanSegment
    return {
      id: request.id,
      by: request.userId,
      ringTimeoutMs: transfer.ringTimeoutSeconds * 1000,
      // The far side of an inbound call is no mailbox.
      prompt: dial === null ? null : `${intro} ${keys}`,
      announcement: party.lines ? transfer.preTransferLine : null,
      returnLine: party.lines ? languageData(first).transfer.returned : null,
      // The browser of a person who called us shows that the call ended.
      partingLine: dial === null ? null : { caller: gone, other: ended },
      languages: party.kind === 'agent' && keep ? languages : null,
      records: keep,
      report: takeoverReport,
      clear: dial?.clear ?? (async () => null),
    }
  }

  /** Returns why a destination cannot be called now, or null. */
  #problemOf(
    destination: Destination,
  ): Extract<ServiceRefusal, `destination_${string}` | 'outside_hours'> | null {
    const status = statusOf(destination)
    if (status === 'disabled') return 'destination_disabled'
    if (status === 'pending') return 'destination_not_verified'
    return takesCalls(destination.row, this.#deps.clock.wall()) ? null : 'outside_hours'
  }

  #plan({ call, number, party, target, request }: PlanInput): {
    readonly plan: TransferPlan
    readonly attempt: TransferAttemptRow
  } {
    const { clock, settings, model } = this.#deps
    const { transfer, languages } = party.spec
    const ownTrunk = number.sipTrunkId !== null
    const handoff = ownTrunk ? 'warm' : (request.handoff ?? transfer.handoff)
    const blind = request.blind ?? transfer.blindTransfers
    const mode = handoff === 'warm' ? 'consult' : blind ? 'blind' : 'screened'
    const now = clock.wall()
    const byName = new Map<string, Destination>()
    const facts = new Map<string, AttemptFacts>()
    const briefs = new Map<string, string>()
    const name = ({ row }: Destination, destination: Destination): string => {
      const id = newId('xfr', now)
      byName.set(id, destination)
      facts.set(id, {
        id,
        destinationId: row.id,
        label: row.label,
        trigger: request.trigger,
        reason: request.reason,
        ratePaisePerMinute: personRate(number),
      })
      return id
    }
    const first = name(target.first, target.first)
    const fallback = target.fallback === null ? null : name(target.fallback, target.fallback)
    const languageOf = (id: string): string => {
      const wanted = byName.get(id)?.row.language ?? ''
      return languages.includes(wanted) ? wanted : (languages[0] ?? 'en-IN')
    }
    const { lines } = party
    for (const id of byName.keys())
      briefs.set(id, plainBrief(languageOf(id), request.note ?? request.reason, []))
    this.#writeBriefs(call, {
      ids: [...byName.keys()],
      note: request.note ?? request.reason,
      languageOf,
      model:
        mode === 'consult' && party.kind === 'agent'
          ? { name: party.spec.languageModel.model, of: model }
          : null,
      store: (id, brief) => briefs.set(id, brief),
    })
    const folder = recordingsFolder(settings.dataFolder)
    const path = (id: string, part: 'human' | 'return') => recordingPath(folder, partName(call.id, id, part))
    const plan: TransferPlan = {
      mode,
      destination: first,
      fallback,
      ringTimeoutMs: transfer.ringTimeoutSeconds * 1000,
      announcement: lines ? transfer.preTransferLine : null,
      returnLine: lines ? languageData(languages[0] ?? 'en-IN').transfer.returned : null,
      // A bot hears the steps instead.
      report:
        party.kind === 'agent'
          ? (missed) => transferReport(missed, (id) => facts.get(id)?.label ?? '')
          : null,
      listening:
        party.kind === 'agent'
          ? {
              caller: languages,
              keep: transfer.recordHumanSegment,
              person: (id) => [languageOf(id), ...languages.filter((tag) => tag !== languageOf(id))],
              answer: (id, talk) =>
                this.#answer(call, party.spec.languageModel.model, {
                  note: request.note ?? request.reason,
                  language: languageOf(id),
                  talk,
                }),
            }
          : null,
      waitLine: languageData(languages[0] ?? 'en-IN').transfer.waiting,
      missLine: lines
        ? (transfer.afterMissLine ?? languageData(languages[0] ?? 'en-IN').transfer.missed)
        : null,
      describe: (id) => ({ ...facts.get(id) }),
      brief: (id) => {
        const { keys, consultKeys } = languageData(languageOf(id)).transfer
        const byWords = mode === 'consult' && party.kind === 'agent'
        return { text: briefs.get(id) ?? '', keys: byWords ? consultKeys : keys }
      },
      partingLine: (id, by) => languageData(languageOf(id)).transfer[by === 'caller' ? 'gone' : 'ended'],
      recordTo:
        number.recordCalls === 1
          ? (id) => ({
              human: transfer.recordHumanSegment ? path(id, 'human') : null,
              back: path(id, 'return'),
            })
          : null,
      clear: (id) => this.#clear(call, number, byName.get(id)),
    }
    const attempt: TransferAttemptRow = {
      ...(facts.get(first) as AttemptFacts),
      organizationId: call.organizationId,
      environment: call.environment,
      callId: call.id,
      attempt: attemptsOf(call) + 1,
      mode,
      brief: null,
      sipCallId: null,
      status: 'accepted',
      outcome: null,
      announced: 0,
      requestedAt: now,
      acceptedAt: null,
      answeredAt: null,
      bridgedAt: null,
      endedAt: null,
    }
    return { plan, attempt }
  }

  /** Writes the briefs while the telephone rings; what is ready at the answer is said. */
  #writeBriefs(call: CallRow, { ids, note, languageOf, model, store }: BriefInput): void {
    const { clock, log } = this.#deps
    this.#saidSoFar(call.id)
      .then(async (segments) => {
        for (const id of ids) {
          const language = languageOf(id)
          store(id, plainBrief(language, note, segments))
          const writer = model?.of(model.name) ?? null
          if (model === null || writer === null) continue
          const written = await modelBrief(
            { model: writer, name: model.name, clock },
            { language, note, segments },
          )
          if (written === null) log.warn({ callId: call.id }, 'transfer.brief_failed')
          else store(id, written)
        }
      })
      .catch((error: unknown) =>
        log.warn({ callId: call.id, error: errorText(error) }, 'transfer.brief_failed'),
      )
  }

  async #saidSoFar(callId: string) {
    const { db, settled } = this.#deps
    await settled(callId)
    return await listSegments(db, callId)
  }

  /** Answers a question of the person to whom a call is presented, from the call so far. */
  async #answer(
    call: CallRow,
    name: string,
    asked: { readonly note: string | null; readonly language: string; readonly talk: readonly TalkLine[] },
  ): Promise<string | null> {
    const { clock, model } = this.#deps
    const writer = model(name)
    if (writer === null) return null
    const { note, language, talk } = asked
    const segments = await this.#saidSoFar(call.id)
    return await modelAnswer({ model: writer, name, clock }, { language, note, segments }, talk)
  }

  /** Allows a dial to a destination that takes calls now. */
  async #clear(call: CallRow, number: NumberRow, chosen: Destination | undefined) {
    const { db, clock, log } = this.#deps
    const now = clock.wall()
    const destination = (await allDestinations(db, call)).find(({ row }) => row.id === chosen?.row.id)
    if (destination === undefined || statusOf(destination) !== 'verified') return null
    if (!takesCalls(destination.row, now)) return null
    const route = await outboundRoute(this.#deps, number)
    if (isRefusal(route)) return null
    const { organizationId, environment, agentId, agentVersionId, nodeId } = call
    const { trunk } = route
    const free = trunk === null ? null : await takeLegChannel(db, trunk, { callId: call.id, nodeId }, now)
    if (trunk !== null && free === null) {
      log.info({ callId: call.id, trunkId: trunk.id }, 'transfer.trunk_full')
      return null
    }
    const release = (): void => {
      free?.().catch((error: unknown) =>
        log.warn({ callId: call.id, error: errorText(error) }, 'transfer.channel_kept'),
      )
    }
    const gate = { to: destination.row.e164, environment, purpose: 'service', trigger: 'transfer' } as const
    const clearance = await clearDial(
      this.#deps,
      { organizationId, callId: call.id, from: number.e164, gate, agentId, agentVersionId },
      async (trx, _record, at) => {
        if (trunk !== null) await recordTrunkUse(trx, trunk, trunk.id, 'outbound', at)
      },
    ).catch((error: unknown) => {
      release()
      throw error
    })
    if (clearance.cleared) return { permit: clearance.permit, gateway: route.gateway, release }
    release()
    return null
  }
}

/** Receives the steps of a request of a bot or a PBX. */
interface Reporter {
  readonly id: string
  readonly report: (update: TransferUpdate) => void
  /** The destination whose end is not the end of the request, because a fallback follows. */
  readonly awaits: string | null
}

type AgentParty = Extract<TransferParty, { readonly kind: 'agent' }>

interface Target {
  readonly first: Destination
  readonly fallback: Destination | null
}

interface PlanInput {
  readonly call: CallRow
  readonly number: NumberRow
  readonly party: TransferParty
  readonly target: Target
  readonly request: TransferAsked
}

interface TakeoverInput {
  readonly call: CallRow
  readonly number: NumberRow
  readonly party: TransferParty
  /** How the person is called. Null for one who called us. */
  readonly dial: { readonly language: string; readonly clear: TakeoverPlan['clear'] } | null
  readonly request: JoinAsked
}

interface BriefInput {
  readonly ids: readonly string[]
  readonly note: string | null
  readonly languageOf: (id: string) => string
  readonly model: { readonly name: string; readonly of: DeskDeps['model'] } | null
  readonly store: (id: string, brief: string) => void
}

/** Returns the destination that a request names by id, key or number, and its fallback. */
function targetOf(
  { kind, spec }: TransferParty,
  destinations: readonly Destination[],
  wanted: string | null,
): Target | null {
  const { transfer } = spec
  const wantedId = wanted ?? transfer.defaultDestinationId
  if (wantedId === null) return null
  const first = named(destinations, wantedId)
  if (first === undefined) return null
  // Any destination of the organization is open to its own bot.
  if (kind === 'bot') return { first, fallback: null }
  const listed = transfer.destinations.find(({ destinationId }) => destinationId === first.row.id)
  if (listed === undefined) return null
  const fallback = destinations.find(({ row }) => row.id === listed.fallbackDestinationId)
  return { first, fallback: fallback ?? null }
}

/** Returns the destination with this id, key or number. */
function named(destinations: readonly Destination[], wanted: string): Destination | undefined {
  const e164 = dialledToE164(wanted.replace(/^(?:sips?|tel):/, '').split('@', 1)[0] ?? '')
  return destinations.find(({ row }) => row.id === wanted || row.key === wanted || row.e164 === e164)
}

/** Returns the price of a minute with a person (paise). */
function personRate({ sipTrunkId }: NumberRow): number {
  return sipTrunkId === null ? RATES.person : RATES.personOverOwnTrunk
}

/** Returns the number of attempts that a call made so far. */
function attemptsOf({ transfer }: CallRow): number {
  return transfer === null ? 0 : (JSON.parse(transfer) as { row: TransferAttemptRow }).row.attempt
}
