import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../../i18n.js'
import { List, useList } from '../../parts/List.js'
import { Page } from '../../parts/Page.js'
import { Rows } from '../../parts/Rows.js'
import { State } from '../../parts/Word.js'
import { useSession } from '../../session.js'

/** Lists all organizations. */
export function Organizations() {
  const t = useTranslations('staff')
  return (
    <Page title={t('organizations')}>
      <OrganizationRows empty={t('empty')} />
    </Page>
  )
}

/** Lists the organizations that wait for their verification. */
export function Verifications() {
  const t = useTranslations('staff')
  return (
    <Page title={t('verifications')}>
      <OrganizationRows empty={t('noVerifications')} verification="submitted" />
    </Page>
  )
}

function OrganizationRows({
  empty,
  verification,
}: {
  readonly empty: string
  readonly verification?: 'submitted'
}) {
  const t = useTranslations('staff')
  const { api } = useSession()
  const { day } = useFormat()
  const organizations = useList(['organizations', verification], (cursor) =>
    api.listOrganizations({ query: { cursor, verification } }),
  )
  return (
    <List query={organizations} empty={empty}>
      {(items) => (
        <Rows
          label={t('organizations')}
          rows={items}
          idOf={({ id }) => id}
          columns={[
            {
              title: t('name'),
              cell: ({ id, name }) => (
                <Link to="/staff/organizations/$id" params={{ id }}>
                  {name}
                </Link>
              ),
            },
            { title: t('state'), cell: (organization) => <State value={organization.verification.status} /> },
            { title: t('blocked'), cell: ({ blocked }) => blocked && <State value="blocked" /> },
            { title: t('created'), cell: ({ createdAt }) => day(createdAt) },
          ]}
        />
      )}
    </List>
  )
}
