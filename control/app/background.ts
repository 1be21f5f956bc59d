import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import { EMBEDDED, findLanguageModel, isSpeechToSpeech, OPENAI } from '../../media/vendors/catalogue.js'
import { openVendors } from '../../media/vendors/open-vendors.js'
import type { Embedder } from '../../media/vendors/openai/embeddings.js'
import type { DocumentReader } from '../../workers/jobs/document-jobs.js'
import type { Deps } from '../api/deps.js'
import { expiredCallsHandler, scheduleExpiredCalls } from '../calls/lifecycle/abandoned.js'
import { adoptionHandler, scheduleAdoption } from '../calls/lifecycle/adopt-recordings.js'
import { sealingHandler } from '../calls/lifecycle/seal-outcome.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { staffHangupsHandler } from '../calls/lifecycle/staff-hangups.js'
import { scheduleStoring, storingHandler } from '../calls/lifecycle/store-recording.js'
import { carrierRecordHandler } from '../calls/transfers/carrier-record.js'
import { diallerHandler } from '../campaigns/dial-job.js'
import { closeHandler, scheduleCloses } from '../compliance/evidence/close.js'
import { timeStampHandler } from '../compliance/evidence/stamp-job.js'
import type { Settings } from '../config/settings.js'
import { erasureHandler } from '../erasure/erase.js'
import { scheduleUseInvoices, useInvoicesHandler } from '../invoices/use-job.js'
import { type JobRunner, openJobRunner } from '../jobs/runner.js'
import type { BuildModels } from '../knowledge/build-extras.js'
import { buildHandler } from '../knowledge/build-job.js'
import { inventoryCheckHandler, scheduleInventoryCheck } from '../numbers/inventory-check.js'
import { numberHandlers } from '../numbers/number-jobs.js'
import { renewalHandler, scheduleRenewals } from '../numbers/renewal.js'
import { topupCheckHandler } from '../payments/check-job.js'
import { scheduleSettlements, settlementHandler } from '../payments/settlement-job.js'
import { resultHandlers } from '../results/result-jobs.js'
import { scheduleWalletChecks, walletCheckHandler } from '../wallet/wallet-check.js'
import { deliveryHandler } from '../webhooks/delivery-job.js'
import { mailDisabledNotice } from '../webhooks/disabled-notice.js'
import { retentionHandlers, scheduleRetention } from './retention.js'

type BackgroundDeps = Deps & {
  readonly documents: DocumentReader
  readonly embedder: Embedder | null
  /** Calls that this process has in its memory. */
  readonly owned: () => ReadonlySet<string>
  /** Time for which this process has reached the database without a break (ms). */
  readonly contactMs: () => number
}

/** Opens the job runner with the handlers of all background jobs. */
export async function openBackground(deps: BackgroundDeps): Promise<JobRunner> {
  const { db, reads, objects, clock, log, nodeId, rootKey, payments, policy } = deps
  await scheduleRetention(db, nodeId, clock.wall())
  await scheduleWalletChecks(db, nodeId, clock.wall())
  await scheduleExpiredCalls(db, clock.wall())
  await scheduleCloses(db, clock.wall())
  const authority = deps.settings.timeStampAuthority
  const checks = payments === null ? null : { db, clock, log, payments, gst: deps.settings.gst }
  if (checks !== null) await scheduleSettlements(checks)
  await scheduleRenewals(db, clock.wall())
  await scheduleInventoryCheck(db, clock.wall())
  const invoicing = { db, clock, gst: deps.settings.gst }
  await scheduleUseInvoices(invoicing)
  const folder = recordingsFolder(deps.settings.dataFolder)
  const recordings = { db, objects, log, nodeId, folder }
  await scheduleStoring(recordings, clock.wall())
  await scheduleAdoption(db, nodeId, clock.wall())
  return openJobRunner({
    db,
    clock,
    log,
    handlers: [
      deliveryHandler({ ...deps, onDisabled: mailDisabledNotice, onAttempt: deps.telemetry.delivery }),
      diallerHandler(deps),
      storingHandler(recordings),
      adoptionHandler({ db, nodeId, folder, clock, log }),
      expiredCallsHandler({ ...deps, folder }),
      staffHangupsHandler({ db, clock }),
      sealingHandler({ rootKey, clock }),
      closeHandler({ db, rootKey, clock, timeStamps: authority !== null }),
      timeStampHandler({ db, authority }),
      erasureHandler({ db, objects, rootKey, clock, folder, policy }),
      ...retentionHandlers({ db, objects, rootKey, clock, log, nodeId, recordings: folder }),
      ...numberHandlers(deps),
      renewalHandler(deps),
      inventoryCheckHandler(deps),
      useInvoicesHandler(invoicing),
      carrierRecordHandler(deps),
      walletCheckHandler({ db, reads, clock, log }),
      buildHandler({ ...deps, models: buildModels(deps) }),
      ...(checks === null ? [] : [topupCheckHandler(checks), settlementHandler(checks)]),
      ...resultHandlers({ db, clock, log, model: analysts(deps) }),
    ],
  })
}

/** Returns the models that builds of knowledge bases use. */
function buildModels(deps: BackgroundDeps): BuildModels {
  const { questions } = deps.settings.knowledge
  const ask = questions === null ? null : analysts(deps)(questions.model)
  return {
    embedder: deps.embedder,
    questions: questions === null || ask === null ? null : { ...questions, ask },
  }
}

/** Returns true if a configured language model can be asked about the calls of an agent with this model. */
export function canAnswer(llmModel: string, providers: Settings['providers']): boolean {
  return (findLanguageModel(llmModel, providers)?.vendor ?? EMBEDDED) !== EMBEDDED
}

/** Returns the language models that can be asked about calls, by the agent's model; none for the embedded one. */
export function analysts({
  settings,
  clock,
  log,
}: Pick<BackgroundDeps, 'settings' | 'clock' | 'log'>): (name: string) => LanguageModel | null {
  const { providers } = settings
  const synthesis = { synthesize: () => Promise.reject(new Error('no speech is synthesized here')) }
  const vendors = openVendors({ providers, clock, log, synthesis })
  return (name) => {
    const vendor = findLanguageModel(name, providers)?.vendor ?? EMBEDDED
    if (vendor === EMBEDDED) return null
    if (!isSpeechToSpeech(vendor)) return vendors.languageModel(vendor)
    // A speech-to-speech model has no text API: OpenAI's chat model is asked, if there is one.
    const chatModel = providers.openai?.chatModel ?? null
    if (chatModel === null) return null
    const model = vendors.languageModel(OPENAI)
    return {
      ...model,
      generate: (request, events) => model.generate({ ...request, model: chatModel }, events),
    }
  }
}
