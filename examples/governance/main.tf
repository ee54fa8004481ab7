# Who may read what, with which password: a secret that is in no plan and no state, a connection that uses it, a credential, a volume,
# and the grants on them. A new password is a new value and a new version:
#
#   terraform apply -var kafka_password=… -var kafka_password_version=2

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Addresses of the Kafka brokers, host:port."
  type        = string
  default     = "broker-1.shop.example:9093,broker-2.shop.example:9093"
}

# Ephemeral: Terraform itself keeps it nowhere.
variable "kafka_password" {
  description = "Password of the Kafka user."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "kafka_password_version" {
  description = "A new number sends the password again."
  type        = number
  default     = 1
}

variable "certificates" {
  description = "Folder of the agent's machine with the key stores."
  type        = string
  default     = "/srv/featurestore/certificates"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_secret_scope" "payments" {
  name = "payments"
}

resource "featurestore_secret" "kafka_password" {
  scope            = featurestore_secret_scope.payments.name
  key              = "kafka-password"
  value_wo         = var.kafka_password
  value_wo_version = var.kafka_password_version
}

resource "featurestore_connection" "kafka" {
  name    = "payments-kafka"
  comment = "The payment team's brokers"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    security_protocol = "SASL_SSL"
    sasl_mechanism    = "SCRAM-SHA-512"
    user              = "featurestore"
    password_secret = {
      scope = featurestore_secret.kafka_password.scope
      key   = featurestore_secret.kafka_password.key
    }
  }
}

resource "featurestore_service_credential" "reader" {
  name = "payments-reader"
  aws_iam_role = {
    role_arn    = "arn:aws:iam::123456789012:role/featurestore-payments"
    external_id = "featurestore"
  }
}

resource "featurestore_volume" "certificates" {
  name             = "main.payments.certificates"
  storage_location = var.certificates
}

# What a stream of the payment team needs: a place for its table, the connection, and the password behind it.
locals {
  grants = {
    catalog            = { name = "main", privileges = ["USE CATALOG"] }
    schema             = { name = "main.payments", privileges = ["USE SCHEMA", "CREATE TABLE"] }
    connection         = { name = featurestore_connection.kafka.name, privileges = ["USE CONNECTION"] }
    secret_scope       = { name = featurestore_secret_scope.payments.name, privileges = ["READ"] }
    service_credential = { name = featurestore_service_credential.reader.name, privileges = ["ACCESS"] }
    volume             = { name = featurestore_volume.certificates.name, privileges = ["READ VOLUME"] }
  }
}

resource "featurestore_grants" "payments" {
  for_each = local.grants

  securable_type = each.key
  securable_name = each.value.name
  grants = [
    { principal = "payments-team", privileges = each.value.privileges },
  ]
}

data "featurestore_connection" "kafka" {
  name = featurestore_connection.kafka.name
}

output "connection" {
  description = "What the connection is, without its secrets."
  value       = "${data.featurestore_connection.kafka.name}: ${data.featurestore_connection.kafka.kafka.security_protocol} to ${data.featurestore_connection.kafka.kafka.bootstrap_servers}"
}
