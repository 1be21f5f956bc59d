import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import { EMBEDDED, findLanguageModel, OPENAI, OPENAI_REALTIME } from '../../media/vendors/catalogue.js'
import { openVendors } from '../../media/vendors/open-vendors.js'
import type { Deps } from '../api/deps.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { scheduleStoring, storingHandler } from '../calls/lifecycle/store-recording.js'
import type { Settings } from '../config/settings.js'
import { type JobRunner, openJobRunner } from '../jobs/runner.js'
import { resultHandlers } from '../results/result-jobs.js'
import { scheduleWalletChecks, walletCheckHandler } from '../wallet/wallet-check.js'
import { deliveryHandler } from '../webhooks/delivery-job.js'
import { mailDisabledNotice } from '../webhooks/disabled-notice.js'
import { retentionHandlers, scheduleRetention } from './retention.js'

type BackgroundDeps = Pick<
  Deps,
  | 'db'
  | 'reads'
  | 'objects'
  | 'clock'
  | 'log'
  | 'rootKey'
  | 'egress'
  | 'publicUrl'
  | 'settings'
  | 'nodeId'
  | 'telemetry'
>

/** Opens the job runner with the handlers of all background jobs. */
export async function openBackground(deps: BackgroundDeps): Promise<JobRunner> {
  const { db, reads, objects, clock, log, nodeId } = deps
  await scheduleRetention(db, nodeId, clock.wall())
  await scheduleWalletChecks(db, nodeId, clock.wall())
  const folder = recordingsFolder(deps.settings.dataFolder)
  const recordings = { db, objects, log, nodeId, folder }
  await scheduleStoring(recordings, clock.wall())
  return openJobRunner({
    db,
    clock,
    log,
    handlers: [
      deliveryHandler({ ...deps, onDisabled: mailDisabledNotice, onAttempt: deps.telemetry.delivery }),
      storingHandler(recordings),
      ...retentionHandlers({ db, objects, clock, log, nodeId, recordings: folder }),
      walletCheckHandler({ db, reads, clock, log }),
      ...resultHandlers({ db, clock, log, model: analysts(deps) }),
    ],
  })
}

/** Returns true if a configured language model can be asked about the calls of an agent with this model. */
export function canAnswer(llmModel: string, providers: Settings['providers']): boolean {
  return (findLanguageModel(llmModel, providers)?.vendor ?? EMBEDDED) !== EMBEDDED
}

/** Returns the language models that can be asked about calls, by the agent's model; none for the embedded one. */
function analysts({ settings, clock, log }: BackgroundDeps): (name: string) => LanguageModel | null {
  const { providers } = settings
  const synthesis = { synthesize: () => Promise.reject(new Error('no speech is synthesized here')) }
  const vendors = openVendors({ providers, clock, log, synthesis })
  return (name) => {
    const vendor = findLanguageModel(name, providers)?.vendor ?? EMBEDDED
    if (vendor === EMBEDDED) return null
    if (vendor !== OPENAI_REALTIME) return vendors.languageModel(vendor)
    // A speech-to-speech model has no text API; the chat model of its vendor is asked.
    const model = vendors.languageModel(OPENAI)
    const chatModel = providers.openai?.chatModel ?? name
    return {
      ...model,
      generate: (request, events) => model.generate({ ...request, model: chatModel }, events),
    }
  }
}
