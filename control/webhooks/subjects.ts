import type { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { findCall } from '../calls/store.js'
import { Transfer, type TransferView, transferView } from '../calls/transfers/attempt-view.js'
import { handoffAddress } from '../calls/transfers/handoff-address.js'
import { findTransfer } from '../calls/transfers/store.js'
import { Call, type CallView, callView } from '../calls/view.js'
import { findCampaign } from '../campaigns/store.js'
import { Campaign, campaignView } from '../campaigns/view.js'
import { findCheck } from '../compliance/check-store.js'
import { ComplianceCheck, checkView } from '../compliance/check-view.js'
import { findAnchor } from '../compliance/evidence/anchors.js'
import { anchorView, EvidenceHead } from '../compliance/evidence/view.js'
import type { EventRow } from '../db/tables/calling.js'
import type { RenderedSubject, SubjectName } from '../events/event-types.js'
import { findBuild } from '../knowledge/build-store.js'
import { findBase } from '../knowledge/store.js'
import { baseView, buildView, KnowledgeBase, KnowledgeBuild } from '../knowledge/view.js'
import { numberView, PhoneNumber } from '../numbers/api.js'
import { findNumberEver } from '../numbers/store.js'
import { findWalletView } from '../wallet/store.js'
import { Wallet } from '../wallet/view.js'

/** Schema of each member of `data`. */
export const SUBJECT_SCHEMAS = {
  call: Call,
  // The first release described an open object.
  transfer: Transfer.loose().meta({
    description: 'The transfer attempt of this event, which may differ from the latest attempt of the call.',
  }),
  // The first release described an open object.
  campaign: Campaign.loose().meta({ description: 'The campaign as its GET operation returns it.' }),
  check: ComplianceCheck,
  // The first release described an open object.
  wallet: Wallet.loose(),
  number: PhoneNumber,
  // The first release described open objects.
  knowledgeBase: KnowledgeBase.loose(),
  build: KnowledgeBuild.loose(),
  evidenceHead: EvidenceHead,
} as const satisfies Readonly<Record<SubjectName, z.ZodType>>

/** Links of an event besides `self`. */
export interface SubjectLinks {
  readonly recording?: string
  readonly transcript?: string
  readonly handoff?: string
}

/** The links that a subject must add. A transfer cannot be rendered without its hand-off page. */
interface RequiredLinks {
  readonly transfer: { readonly handoff: string }
}

/** Dependencies of the links. */
export type LinkDeps = Pick<Deps, 'publicUrl' | 'rootKey'>

type LinksOf<S extends SubjectName, View> = S extends keyof RequiredLinks
  ? { readonly links: (view: View, self: string, deps: LinkDeps) => RequiredLinks[S] }
  : { readonly links?: (view: View, self: string, deps: LinkDeps) => SubjectLinks }

/** Owner of the subjects of an event. The environment is null if both environments share them. */
export type SubjectOwner = Pick<EventRow, 'organizationId' | 'environment'>
type Owner = { readonly organizationId: string; readonly environment: 'test' | 'live' }

type Renderer<S extends SubjectName, View = z.input<(typeof SUBJECT_SCHEMAS)[S]>> = {
  /** Path of the operation that returns the subject. `:id` stands for its id. */
  readonly path: `/v1/${string}`
  /** Returns the subject as that operation does, or null if it does not exist. */
  readonly load: (db: Deps['db'], owner: SubjectOwner, id: string) => Promise<View | null>
} & LinksOf<S, View>

/** Shows a resource of one environment. */
function pinned<Row, View>(
  find: (db: Deps['db'], owner: Owner, id: string) => Promise<Row | null>,
  view: (row: Row) => View,
) {
  return async (db: Deps['db'], owner: SubjectOwner, id: string): Promise<View | null> => {
    const { organizationId, environment } = owner
    if (environment === null) return null
    const row = await find(db, { organizationId, environment }, id)
    return row === null ? null : view(row)
  }
}

/** Shows a resource that both environments share. */
function shared<Row, View>(
  find: (db: Deps['db'], organizationId: string, id: string) => Promise<Row | null>,
  view: (row: Row) => View,
) {
  return async (db: Deps['db'], { organizationId }: SubjectOwner, id: string): Promise<View | null> => {
    const row = await find(db, organizationId, id)
    return row === null ? null : view(row)
  }
}

export const RENDERERS: { readonly [S in RenderedSubject]: Renderer<S> } = {
  call: {
    path: '/v1/calls/:id',
    load: pinned(findCall, callView),
    links: ({ hasRecording, hasTranscript }: CallView, self) => ({
      ...(hasRecording ? { recording: `${self}/recording` } : {}),
      ...(hasTranscript ? { transcript: `${self}/transcript` } : {}),
    }),
  },
  campaign: { path: '/v1/campaigns/:id', load: pinned(findCampaign, campaignView) },
  transfer: {
    // Attempts have no operation of their own. They are always the second subject, whose path no link shows.
    path: '/v1/calls',
    load: pinned(findTransfer, transferView),
    links: ({ id, requestedAt }: TransferView, _self, deps) => ({
      handoff: handoffAddress(deps, { id, requestedAt: Date.parse(requestedAt) }),
    }),
  },
  check: { path: '/v1/compliance/checks/:id', load: pinned(findCheck, checkView) },
  number: { path: '/v1/numbers/:id', load: pinned(findNumberEver, numberView) },
  // The operation shows the current head, which may be a later one.
  evidenceHead: { path: '/v1/compliance/evidence/head', load: pinned(findAnchor, anchorView) },
  // An organization has one wallet, which the live environment shows.
  wallet: { path: '/v1/wallet', load: (db, { organizationId }) => findWalletView(db, organizationId) },
  knowledgeBase: { path: '/v1/knowledge-bases/:id', load: shared(findBase, baseView) },
  // The event links to the knowledge base.
  build: { path: '/v1/knowledge-bases/:id/builds/:buildId', load: shared(findBuild, buildView) },
}
