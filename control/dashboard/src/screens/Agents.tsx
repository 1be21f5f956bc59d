import { Button, Group, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { useWord, Word } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists agents. */
export function Agents() {
  const t = useTranslations('agents')
  const tCommon = useTranslations('common')
  const { api, canWrite, environment } = useSession()
  const word = useWord()
  const [creating, setCreating] = useState(false)
  const agents = useList(['agents', 'list'], (cursor) => api.listAgents({ query: { cursor } }))
  const create = canWrite && <Button onClick={() => setCreating(true)}>{t('new')}</Button>
  return (
    <Page title={t('title')} actions={create}>
      <List query={agents} empty={t('empty')} start={create}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: tCommon('name'),
                cell: ({ id, name }) => (
                  <Link to="/$environment/agents/$id" params={{ environment, id }}>
                    {name}
                  </Link>
                ),
              },
              {
                title: t('state'),
                cell: ({ publishedVersion, hasUnpublishedChanges }) => (
                  <Group gap="xs">
                    {publishedVersion !== null && (
                      <Word color="green">{t('version', { version: publishedVersion })}</Word>
                    )}
                    {hasUnpublishedChanges && <Word color="orange">{t('changes')}</Word>}
                  </Group>
                ),
              },
              { title: t('purpose'), cell: ({ purpose }) => word(purpose) },
              { title: t('numbers'), align: 'right', cell: ({ numberIds }) => numberIds.length },
            ]}
          />
        )}
      </List>
      {creating && <NewAgent close={() => setCreating(false)} />}
    </Page>
  )
}

function NewAgent({ close }: { readonly close: () => void }) {
  const t = useTranslations('agents')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const form = useFields({ name: '' })
  const create = useAction(
    () => api.createAgent({ body: form.values }),
    ({ id }) => void navigate({ to: '/$environment/agents/$id', params: { environment, id } }),
  )
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('create')}>
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
    </FormDialog>
  )
}
