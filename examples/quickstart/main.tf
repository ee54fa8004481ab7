# Card transactions from a Kafka topic into a Delta table. `make demo` runs this; by hand, beside a broker and an agent:
#
#   terraform apply -var bootstrap_servers=127.0.0.1:9092

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Address of the Kafka broker, host:port."
  type        = string
}

variable "topic" {
  description = "Topic with one JSON transaction per message."
  type        = string
  default     = "card-transactions"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_connection" "kafka" {
  name = "local-kafka"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    security_protocol = "PLAINTEXT"
  }
}

resource "featurestore_stream" "transactions" {
  name        = "main.payments.card_transactions"
  description = "Card transactions as the payment gateway sends them"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe = var.topic }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = { json_schema = file("${path.module}/transaction.schema.json") }
    }
  }

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.payments.card_transactions_raw"
    }
    tags = { team = "payments" }
  }

  # The memo is free text that customers type; it stays out of the table.
  excluded_columns = ["value.memo"]
}

output "table" {
  description = "Where the rows are."
  value       = featurestore_stream.transactions.ingestion_config.ingestion_destination.delta_table_name
}
