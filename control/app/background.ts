import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import {
  findLanguageModel,
  OPENAI,
  OPENAI_REALTIME,
  SARVAM,
  SECOND_CHAT,
} from '../../media/vendors/catalogue.js'
import { openAiLanguageModel } from '../../media/vendors/openai/llm.js'
import { sarvamLanguageModel } from '../../media/vendors/sarvam/llm.js'
import type { Deps } from '../api/deps.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import { type JobRunner, openJobRunner } from '../jobs/runner.js'
import { resultHandlers } from '../results/result-jobs.js'
import { deliveryHandler } from '../webhooks/delivery-job.js'
import { mailDisabledNotice } from '../webhooks/disabled-notice.js'
import { retentionHandlers, scheduleRetention } from './retention.js'

type BackgroundDeps = Pick<
  Deps,
  'db' | 'clock' | 'log' | 'rootKey' | 'egress' | 'publicUrl' | 'settings' | 'nodeId' | 'telemetry'
>

/** Everything that is done later than it was asked for. Later parts add their handlers here. */
export async function openBackground(deps: BackgroundDeps): Promise<JobRunner> {
  const { db, clock, log, nodeId } = deps
  await scheduleRetention(db, nodeId, clock.wall())
  const retention = retentionHandlers({
    db,
    clock,
    log,
    nodeId,
    recordings: recordingsFolder(deps.settings.dataFolder),
  })
  return openJobRunner({
    db,
    clock,
    log,
    handlers: [
      deliveryHandler({ ...deps, onDisabled: mailDisabledNotice, onAttempt: deps.telemetry.delivery }),
      ...retention,
      ...resultHandlers({ db, clock, log, model: analysts(deps) }),
    ],
  })
}

/** The models that can be asked about calls: those of agents, where they are more than rules. */
function analysts({ settings, clock, log }: BackgroundDeps): (name: string) => LanguageModel | null {
  const { openai, sarvam, secondChat } = settings.providers
  const models = new Map<string, LanguageModel>()
  if (openai) {
    const model = openAiLanguageModel(openai, { clock, log })
    models.set(OPENAI, model)
    // A model that speaks is not asked in writing: the chat model of its vendor is.
    models.set(OPENAI_REALTIME, {
      ...model,
      generate: (request, events) => model.generate({ ...request, model: openai.chatModel }, events),
    })
  }
  if (sarvam) models.set(SARVAM, sarvamLanguageModel(sarvam, { clock, log }))
  if (secondChat)
    models.set(SECOND_CHAT, openAiLanguageModel(secondChat, { clock, log }, { id: SECOND_CHAT }))
  return (name) => models.get(findLanguageModel(name, settings.providers)?.vendor ?? '') ?? null
}
