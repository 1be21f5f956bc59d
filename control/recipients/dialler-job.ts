import type { CallRow } from '../db/tables/calling.js'
import type { WakeableJob } from '../jobs/wake.js'

export const DIALLER_KIND = 'campaigns.dial'

/** Returns the job that dials for an owner. There is one, so that its decisions follow each other. */
export function diallerJob({
  organizationId,
  environment,
}: Pick<CallRow, 'organizationId' | 'environment'>): WakeableJob {
  const payload = JSON.stringify({ organizationId, environment })
  return { id: `${DIALLER_KIND}:${organizationId}:${environment}`, kind: DIALLER_KIND, lane: '', payload }
}
