import type { NewJob } from '../../jobs/store.js'

/** Returns the kind of the jobs that move the recordings of a node to the object store. Only it has the files. */
export function storingKind(nodeId: string): string {
  return `recording:${nodeId}`
}

/** Returns the job that moves a recording to the object store. A call has one such job at most. */
export function storingJob(callId: string, nodeId: string, dueAt: number): NewJob {
  return { id: storingJobId(callId), kind: storingKind(nodeId), dueAt, payload: callId }
}

export function storingJobId(callId: string): string {
  return `recording:${callId}`
}
