import { z } from 'zod'
import { readPeaks } from '../../media/recording/peaks.js'
import type { Deps } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import type { RecordingRow } from '../db/tables/calling.js'
import { recordingsFolder } from './lifecycle/settle.js'
import { openRecording } from './recording-file.js'
import { readCourse, Timeline, type TimelineView } from './report/timeline.js'
import { findCall, findRecording } from './store.js'

const RESOLUTION = { perSecond: 10, most: 4_000 }

export const readCallTimeline = operation({
  id: 'readCallTimeline',
  method: 'get',
  path: '/v1/calls/:id/timeline',
  tag: 'Calls',
  summary: 'Get the course of a call on one axis of time',
  description:
    'Waveform, turns, keys, tools, legs, SIP steps, and the latency of each reply with its stages. Available during the call, too; the waveform follows with the recording. The SIP messages themselves are shown by `parley trace`.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('call') }),
  status: 200,
  result: Timeline,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const call = await findCall(deps.db, actor, params.id)
    if (call === null) return refuse('not_found', 'The call does not exist.')
    const recording = await findRecording(deps.db, actor, call.id)
    const course = await readCourse(deps.db, call)
    return {
      ...course,
      durationMs: Math.max(course.durationMs, recording?.durationMs ?? 0),
      waveform: recording === null ? null : await waveformOf(deps, recording),
    }
  },
})

/** Returns null when the recording was deleted meanwhile. */
async function waveformOf(
  { objects, settings }: Pick<Deps, 'objects' | 'settings'>,
  { callId: name, key, bytes }: RecordingRow,
): Promise<TimelineView['waveform']> {
  const content = await openRecording(objects, recordingsFolder(settings.dataFolder), { name, key })
  if (content === null) return null
  const { data, channels, sample_rate, samples_per_pixel } = await readPeaks(content, bytes, RESOLUTION)
  const levels = (channel: number): number[] => {
    const loudest: number[] = []
    for (let at = 2 * channel; at < data.length; at += 2 * channels) {
      loudest.push(Math.max(-(data[at] ?? 0), data[at + 1] ?? 0))
    }
    return loudest
  }
  return { pixelsPerSecond: sample_rate / samples_per_pixel, caller: levels(0), agent: levels(1) }
}
