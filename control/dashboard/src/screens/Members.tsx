import { Button, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { Confirm, FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { useToast } from '../parts/toast.js'
import { useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

const ROLES = ['owner', 'admin', 'developer', 'viewer', 'billing'] as const
type Role = (typeof ROLES)[number]

type Member = Item<'listMembers'>

/** Lists the members of the organization and the invitations that were not accepted yet. */
export function Members() {
  const t = useTranslations('members')
  const { api, canManage, user } = useSession()
  const { day } = useFormat()
  const word = useWord()
  const [inviting, setInviting] = useState(false)
  const [removed, setRemoved] = useState<Member | null>(null)
  const members = useList(['members'], (cursor) => api.listMembers({ query: { cursor } }))
  const change = useAction(({ userId, role }: { readonly userId: string; readonly role: Role }) =>
    api.changeMemberRole({ userId, body: { role } }),
  )
  const remove = useAction(
    (userId: string) => api.removeMember({ userId }),
    () => setRemoved(null),
  )
  return (
    <Page
      title={t('title')}
      actions={canManage && <Button onClick={() => setInviting(true)}>{t('invite')}</Button>}
    >
      {change.error !== null && <Problem error={change.error} />}
      <List query={members} empty="">
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ userId }) => userId}
            columns={[
              {
                title: t('member'),
                cell: ({ userId, name, email }) => (
                  <>
                    {name} {userId === user.id && `(${t('you')})`}
                    <Text size="xs" c="dimmed">
                      {email}
                    </Text>
                  </>
                ),
              },
              {
                title: t('role'),
                cell: ({ userId, name, role }) =>
                  canManage && userId !== user.id ? (
                    <NativeSelect
                      aria-label={t('roleOf', { name })}
                      value={role}
                      onChange={({ currentTarget }) =>
                        change.mutate({ userId, role: currentTarget.value as Role })
                      }
                      data={ROLES.map((value) => ({ value, label: word(value) }))}
                    />
                  ) : (
                    word(role)
                  ),
              },
              ...(canManage
                ? [
                    {
                      title: t('secondFactor'),
                      cell: ({ hasSecondFactor }: Member) =>
                        t(hasSecondFactor === true ? 'hasFactor' : 'noFactor'),
                    },
                  ]
                : []),
              { title: t('since'), cell: ({ createdAt }) => day(createdAt) },
              {
                title: '',
                align: 'right',
                cell: (member) =>
                  canManage &&
                  member.userId !== user.id && (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={`${t('remove')} ${member.name}`}
                      onClick={() => setRemoved(member)}
                    >
                      {t('remove')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
      {canManage && <Invitations />}
      {inviting && <Invite close={() => setInviting(false)} />}
      {removed !== null && (
        <Confirm
          title={t('remove')}
          text={t('removeText', { name: removed.name })}
          label={t('remove')}
          action={{ ...remove, mutate: () => remove.mutate(removed.userId) }}
          close={() => setRemoved(null)}
        />
      )}
    </Page>
  )
}

function Invitations() {
  const t = useTranslations('members')
  const { api } = useSession()
  const { day } = useFormat()
  const word = useWord()
  const [revoked, setRevoked] = useState<Item<'listInvitations'> | null>(null)
  const invitations = useList(['invitations'], (cursor) => api.listInvitations({ query: { cursor } }))
  const revoke = useAction(
    (id: string) => api.revokeInvitation({ id }),
    () => setRevoked(null),
  )
  return (
    <Stack component="section" aria-label={t('invitations')}>
      <Title order={2} size="h4">
        {t('invitations')}
      </Title>
      <List query={invitations} empty={t('noInvitations')}>
        {(items) => (
          <Rows
            label={t('invitations')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('email'), cell: ({ email }) => email },
              { title: t('role'), cell: ({ role }) => word(role) },
              { title: t('expires'), cell: ({ expiresAt }) => day(expiresAt) },
              {
                title: '',
                align: 'right',
                cell: (invitation) => (
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`${t('revoke')} ${invitation.email}`}
                    onClick={() => setRevoked(invitation)}
                  >
                    {t('revoke')}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </List>
      {revoked !== null && (
        <Confirm
          title={t('revoke')}
          text={t('revokeText', { email: revoked.email })}
          label={t('revoke')}
          action={{ ...revoke, mutate: () => revoke.mutate(revoked.id) }}
          close={() => setRevoked(null)}
        />
      )}
    </Stack>
  )
}

function Invite({ close }: { readonly close: () => void }) {
  const t = useTranslations('members')
  const { api, organization } = useSession()
  const toast = useToast()
  const word = useWord()
  const form = useFields({ email: '', role: 'developer' as string })
  const { email } = form.values
  const role = form.values.role as Role
  const invite = useAction(
    () => api.inviteMember({ body: { email, role } }),
    () => {
      toast(t('invited', { email }))
      close()
    },
  )
  const roles = ROLES.filter((value) => value !== 'owner' || organization?.role === 'owner')
  return (
    <FormDialog title={t('invite')} close={close} action={invite} submit={t('invite')}>
      <TextInput label={t('email')} type="email" required data-autofocus {...form.text('email')} />
      <NativeSelect
        label={t('role')}
        description={t(`may.${role}`)}
        data={roles.map((value) => ({ value, label: word(value) }))}
        {...form.text('role')}
      />
    </FormDialog>
  )
}
